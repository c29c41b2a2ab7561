package conditions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/internal/inspecttest"
)

const abroad = `type: MeshExternalService
mesh: default
name: bank
spec:
  match: {type: HostnameGenerator, port: 443, protocol: tcp}
  endpoints: [{address: bank.example.com, port: 443}, {address: 192.0.2.1, port: 443}]
---
type: Dataplane
mesh: default
name: front
networking:
  address: 127.0.0.1
  outbound: [{address: 127.0.0.1, port: 10001, backendRef: {kind: MeshExternalService, name: bank, port: 443}}]
---
type: Dataplane
mesh: default
name: other
networking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: other}}]}
`

// Of a sidecar that takes long it is told since when, for what, what it may wait for with whose the name is, and a
// command that shows it; the same in the status of a mesh, however that is counted, and as a problem. One
// that takes as long as all do is behind and no more.
func TestWhatASidecarWaitsForIsTold(t *testing.T) {
	t.Parallel()
	m, since := inspecttest.Model(t, abroad), time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	bank := []string{"extsvc_bank:443"}
	for _, c := range []struct {
		what string
		of   []inspect.Unconfirmed
		want []string // in the problem; none for no problem
	}{
		{"as all", nil, nil},
		{"starts", []inspect.Unconfirmed{{Type: "lds", Since: since, Resolving: bank}},
			[]string{"has not asked for listeners since 2026-11-28T10:00:00Z: ", "begins to serve, when all its clusters are ready", "bank.example.com of MeshExternalService/bank;", "`weft inspect config-dump front`"}},
		{"runs", []inspect.Unconfirmed{{Type: "eds", Requested: true, Since: since.Add(time.Second)}, {Type: "cds", Requested: true, Since: since, Resolving: bank}},
			[]string{"has not confirmed clusters since 2026-11-28T10:00:00Z: ", "may wait for names for which DNS does not answer: bank.example.com of MeshExternalService/bank;"}},
		{"without names", []inspect.Unconfirmed{{Type: "cds", Requested: true, Since: since}}, []string{"endpoints, certificates and first health checks"}},
		{"a cluster of another", []inspect.Unconfirmed{{Type: "cds", Requested: true, Since: since, Resolving: []string{"gone:80"}}}, []string{"those of cluster gone:80;"}},
		{"does not read", []inspect.Unconfirmed{{Type: "rds", Requested: true, Since: since}}, []string{"has not confirmed routes", "busy, stopped or cut off"}},
	} {
		front := inspect.Sidecar{Dataplane: inspecttest.Plane("front"), Connected: true, Unconfirmed: c.of}
		all := []inspect.Sidecar{front, inspecttest.Connected("other", true)}
		var found string
		for _, o := range conditions.Problems(m, all, nil) {
			for _, p := range o.Problems {
				if p.Code == "Unconfirmed" && o.Owner == "Dataplane/default/front" && p.Severity == api.Warning {
					found = p.Message
				}
			}
		}
		if found != front.WaitsFor(m) || (found != "") != (c.want != nil) || strings.Contains(found, "192.0.2.1") {
			t.Errorf("%s: the problem %q, of the sidecar %q", c.what, found, front.WaitsFor(m))
		}
		for _, w := range c.want {
			if !strings.Contains(found, w) {
				t.Errorf("%s: no %q in %q", c.what, w, found)
			}
		}
		tally := inspect.NewTally()
		tally.Move(inspecttest.Plane("front"), "", inspect.StateBehind)
		for _, s := range []inspect.Sync{
			inspect.SyncOf(m, "default", all),
			tally.Sync(m, "default", inspect.Listed(all), all, func(api.Ref) bool { return false }),
		} {
			var told string
			for _, u := range s.Unconfirmed {
				told += "its Envoy " + u.Lacks() + " since " + u.Since.Format(time.RFC3339) + ": " + u.Message
			}
			if told != found || len(s.Behind) != 1 {
				t.Errorf("%s: %+v, want %q", c.what, s, found)
			}
		}
	}
	done := inspect.Sidecar{Dataplane: inspecttest.Plane("front"), Connected: true, InSync: true, Unconfirmed: []inspect.Unconfirmed{{Type: "cds", Requested: true, Since: since}}}
	if done.Troubled() || done.WaitsFor(m) != "" {
		t.Error("one that follows waits")
	}
}
