package explain_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/inspecttest"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// elsewhere are services that till calls, and a rule of stock that leads to price.
const elsewhere = `
type: Dataplane
mesh: default
name: till-1
networking:
  address: 127.0.0.1
  inbound: [{port: 21080, tags: {kuma.io/service: till, kuma.io/protocol: http}}]
  outbound: [{port: 21001, tags: {kuma.io/service: stock}}, {port: 21002, tags: {kuma.io/service: price}}]
---
type: Dataplane
mesh: default
name: stock-1
networking:
  address: 127.0.0.2
  inbound: [{port: 21180, tags: {kuma.io/service: stock, kuma.io/protocol: http, version: a}}]
---
type: Dataplane
mesh: default
name: price-1
networking:
  address: 127.0.0.3
  inbound: [{port: 21380, tags: {kuma.io/service: price, kuma.io/protocol: http}}]
---
type: MeshExternalService
mesh: default
name: outside
spec: {match: {type: HostnameGenerator, port: 80, protocol: http}, endpoints: [{address: 127.0.0.9, port: 80}]}
---
type: MeshTimeout
mesh: default
name: price-t
spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: price}, default: {connectionTimeout: 2s, idleTimeout: 77s, http: {maxStreamDuration: 2s, requestTimeout: 9s}}}]}
---
type: MeshTimeout
mesh: default
name: stock-t
spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: stock}, default: {connectionTimeout: 4s, idleTimeout: 44s, http: {maxStreamDuration: 8s, requestTimeout: 12s}}}]}
---
type: MeshTimeout
mesh: default
name: outside-t
spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshExternalService, name: outside}, default: {connectionTimeout: 3s}}]}
---
type: MeshHTTPRoute
mesh: default
name: stock
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: stock}
    rules:
    - matches: [{path: {type: PathPrefix, value: /p}}]
      default: {backendRefs: [BACKENDS]}
`

// TestConnectionsAreTheBackends: of a rule that leads elsewhere explain and simulate show what the
// clusters of its backends have, and whose word that is; what is said of connections to the destination
// itself is without effect there, unless a share goes to it.
func TestConnectionsAreTheBackends(t *testing.T) {
	t.Parallel()
	const price, stock, outside = "{kind: MeshService, name: price}", "{kind: MeshService, name: stock}", "{kind: MeshExternalService, name: outside}"
	for name, x := range map[string]struct {
		backends string
		idle     bool     // what is said of stock's connections
		want     []string // of each backend, its connectionTimeout and whose it is
	}{
		"another":  {price, true, []string{"2s price-t"}},
		"itself":   {stock, false, []string{""}},
		"a subset": {"{kind: MeshServiceSubset, name: stock, tags: {version: a}}", false, []string{""}},
		"both":     {stock + ", " + price, false, []string{"4s stock-t", "2s price-t"}},
		"two":      {price + ", " + outside, true, []string{"2s price-t", "3s outside-t"}},
		"outside":  {outside, true, []string{"3s outside-t"}},
		"subset":   {"{kind: MeshServiceSubset, name: price, tags: {version: none}}", true, []string{"2s price-t"}},
	} {
		m := inspecttest.Model(t, strings.Replace(elsewhere, "BACKENDS", x.backends, 1))
		e, err := explain.Of(m, inspecttest.Plane("till-1"), "stock")
		if err != nil {
			t.Fatal(err)
		}
		rule := e.Outbounds[0].Routes[0]
		v, err := sim.Run(m, inspecttest.Plane("till-1"), wire.Request{URL: "http://stock/p", Answers: "200@5s"})
		if err != nil {
			t.Fatal(err)
		}
		compare := func(who string, of map[string]sim.Policy, backends []sim.Backend) {
			if p := of["MeshTimeout"]; slices.Contains(p.Idle, "connectionTimeout") != x.idle || slices.Contains(p.Idle, "http.requestTimeout") {
				t.Errorf("%s, %s: idle are %q", name, who, p.Idle)
			}
			for i, b := range backends {
				got := ""
				if said := b.Policies["MeshTimeout"].Why["connectionTimeout"]; len(said) > 0 {
					last := said[len(said)-1]
					got = fmt.Sprint(last.Value) + " " + last.Origin.Name
				}
				if got != x.want[i] {
					t.Errorf("%s, %s: backend %d has %q, want %q", name, who, i, got, x.want[i])
				}
			}
		}
		compare("explain", rule.Policies, rule.Backends)
		if v.Branches[0].Outcome == sim.Forward {
			compare("simulate", v.Branches[0].Policies, v.Branches[0].Backends)
		}
	}
}

// TestTheEndHasAnAuthor: the bound that ends a request in simulate is one that it shows.
func TestTheEndHasAnAuthor(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, strings.Replace(elsewhere, "BACKENDS", "{kind: MeshService, name: price}", 1))
	v, err := sim.Run(m, inspecttest.Plane("till-1"), wire.Request{URL: "http://stock/p", Answers: "200@5s"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := terminal.VerdictText(&out, v, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	shown := strings.Join(strings.Fields(out.String()), " ")
	for _, line := range []string{"http.maxStreamDuration = 2s MeshTimeout/price-t to[0] (service)", "idleTimeout = 1m17s MeshTimeout/price-t to[0] (service)",
		"connectionTimeout = 2s MeshTimeout/price-t to[0] (service)", "MeshTimeout/stock-t to[0] (service), without effect here", "504 by maxStreamDuration"} {
		if !strings.Contains(shown, line) {
			t.Errorf("%q is not in\n%s", line, out.String())
		}
	}
}
