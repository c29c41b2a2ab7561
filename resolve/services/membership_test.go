package services_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// memberDocs are services that select by each means, who answers for them by the word of an
// administrator, and who calls them.
const memberDocs = `
type: MeshService
mesh: default
name: tagged
spec: {selector: {dataplaneTags: {app: pay}}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}
---
type: MeshService
mesh: default
name: labelled
spec: {selector: {dataplaneLabels: {matchLabels: {team: pay}}}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}
---
type: MeshService
mesh: default
name: named
spec: {selector: {dataplaneRef: {name: pay-1}}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}
---
type: MeshService
mesh: default
name: ported
labels: {in: all}
spec: {selector: {dataplaneTags: {app: pay}}, ports: [{port: 80, targetPort: main, appProtocol: http}]}
---
type: MeshMultiZoneService
mesh: default
name: everywhere
spec: {selector: {meshService: {matchLabels: {in: all}}}, ports: [{port: 80, appProtocol: http}]}
---
type: MeshHTTPRoute
mesh: default
name: subset
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: pay}
    rules: [{matches: [{path: {type: PathPrefix, value: /v2}}], default: {backendRefs: [{kind: MeshServiceSubset, name: pay, tags: {version: v2}}]}}]
---
type: Dataplane
mesh: default
name: pay-1
labels: {team: pay}
networking: {address: 10.0.0.1, inbound: [{name: main, port: 8080, tags: {kuma.io/service: pay, app: pay, version: v2, kuma.io/protocol: http}}]}
---
type: Dataplane
mesh: default
name: caller
networking:
  address: 10.0.0.9
  inbound: [{port: 8080, tags: {kuma.io/service: caller, kuma.io/protocol: http}}]
  outbound:
  - {port: 1, backendRef: {kind: MeshService, name: tagged, port: 80}}
  - {port: 2, backendRef: {kind: MeshService, name: labelled, port: 80}}
  - {port: 3, backendRef: {kind: MeshService, name: named, port: 80}}
  - {port: 4, backendRef: {kind: MeshService, name: ported, port: 80}}
  - {port: 5, backendRef: {kind: MeshMultiZoneService, name: everywhere, port: 80}}
  - {port: 6, tags: {kuma.io/service: pay}}
`

// guestDoc is a dataplane that its sidecar brings along, and that says all that pay-1 does.
const guestDoc = `
type: Dataplane
mesh: default
name: evil-1
labels: {team: pay, kuma.io/display-name: pay-1, legacy: "true"}
networking: {address: 10.0.0.66, inbound: [{name: main, port: 8080, tags: {kuma.io/service: pay, app: pay, version: v2, kuma.io/protocol: http}}]}
`

const legacyPermissive = `
---
type: MeshTLS
mesh: default
name: legacy
spec: {targetRef: {kind: Dataplane, labels: {legacy: "true"}}, rules: [{default: {mode: Permissive}}]}
`

func documents(t *testing.T, text string) []*api.Object {
	t.Helper()
	objects, err := decode.Objects(world.Catalog(), "test", []byte(text))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	return objects
}

// led are the clusters of a caller by which it is led to an address, by name and sorted.
func led(m *resolve.Model, address string) (out []string) {
	r, _ := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "caller"})
	for _, c := range r.Clusters {
		if slices.ContainsFunc(c.List, func(e effective.Endpoint) bool { return e.Address == address }) {
			out = append(out, c.Cluster.Name)
		}
	}
	return out
}

// TestMembershipIsProven: where mutual TLS is Strict a dataplane that its sidecar brings along answers
// only for what its token binds, by whatever a service selects; it is told why, with the command that
// binds it. In Permissive and in plain text it answers as it says, with a note in the first; and nobody
// makes itself Permissive by a label to take part.
func TestMembershipIsProven(t *testing.T) {
	t.Parallel()
	all := func(name, value string) map[string][]string { return map[string][]string{name: {value}} }
	proofs := map[string]*api.Proof{
		"nothing": {}, "another service": {Tags: all("kuma.io/service", "evil")}, "nobody asked": nil,
		"tag": {Tags: all("app", "pay")}, "label": {Labels: all("team", "pay")}, "name": {Labels: all("kuma.io/display-name", "pay-1")},
		"service": {Tags: all("kuma.io/service", "pay")}, "version": {Tags: map[string][]string{"kuma.io/service": {"pay"}, "version": {"v1", "v2"}}},
	}
	count := map[string]int{"nothing": 0, "another service": 0, "nobody asked": 7, "tag": 3, "label": 1, "name": 1, "service": 1, "version": 2}
	for mode, mtls := range map[string]string{"strict": worlds.StrictMTLS, "permissive": worlds.PermissiveMTLS, "plain": "null"} {
		for loosened, more := range map[string]string{"": "", " with a label that loosens": legacyPermissive} {
			for what, proof := range proofs {
				t.Run(mode+" "+what+loosened, func(t *testing.T) {
					t.Parallel()
					guest := *documents(t, guestDoc)[0]
					guest.Owner, guest.Proof = api.Ephemeral, proof
					objects := append(documents(t, memberDocs+more), worlds.SecureMesh(t, world.Catalog(), mtls), &guest)
					m, _ := resolve.Compile(snapshot.New(1, objects...), world.Dialects(), world.Kinds())
					if got := led(m, "10.0.0.1"); len(got) != 7 {
						t.Errorf("the caller is led to who is applied by %v", got)
					}
					want := count[what]
					if mode != "strict" {
						want = 7
					}
					if got := led(m, "10.0.0.66"); len(got) != want {
						t.Errorf("%d clusters lead to who is brought along, want %d: %v", len(got), want, got)
					}
					told := ""
					for _, n := range m.Reader(nil).NotesOn(guest.Ref) {
						if n.Code == api.CodeUnprovenMember {
							told += fmt.Sprintln(n.Severity, n.Message)
						}
					}
					switch {
					case mode == "plain" || proof == nil:
						if told != "" {
							t.Errorf("told: %s", told)
						}
					case !strings.Contains(told, "weft token dataplane --mesh default --name evil-1 "):
						t.Errorf("nobody is told what to do: %q", told)
					case what == "another service" && !strings.Contains(told, " --tag app=pay --tag kuma.io/service=evil"):
						t.Errorf("the command does not bind it: %s", told)
					}
				})
			}
		}
	}
}

// TestUnprovenNamesAreNotExpected: who is left out is not believed either, also while it is not ready.
func TestUnprovenNamesAreNotExpected(t *testing.T) {
	t.Parallel()
	for _, ready := range []string{"true", "false"} {
		guest := *documents(t, strings.Replace(strings.Replace(guestDoc, "kuma.io/service: pay", "kuma.io/service: evil", 1), "[{name: main,", "[{health: {ready: "+ready+"}, name: main,", 1))[0]
		guest.Owner, guest.Proof = api.Ephemeral, &api.Proof{Tags: map[string][]string{"kuma.io/service": {"evil"}}}
		m, _ := resolve.Compile(snapshot.New(1, append(documents(t, memberDocs), worlds.SecureMesh(t, world.Catalog(), worlds.StrictMTLS), &guest)...), world.Dialects(), world.Kinds())
		r, _ := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "caller"})
		for _, c := range r.Clusters {
			if c.TLS != nil && slices.Contains(c.TLS.Names, "spiffe://default/evil") {
				t.Errorf("ready %s: %s expects %v", ready, c.Cluster.Name, c.TLS.Names)
			}
		}
	}
}

// TestUnprovenMembersDoNotSayWhatIsSpoken: who is left out cannot turn a service that speaks HTTP into
// one whose requests nobody reads.
func TestUnprovenMembersDoNotSayWhatIsSpoken(t *testing.T) {
	t.Parallel()
	for mtls, want := range map[string]api.Protocol{worlds.StrictMTLS: api.HTTP, worlds.PermissiveMTLS: api.TCP} {
		guest := *documents(t, strings.Replace(guestDoc, "kuma.io/protocol: http", "kuma.io/protocol: tcp", 1))[0]
		guest.Owner, guest.Proof = api.Ephemeral, &api.Proof{}
		m, _ := resolve.Compile(snapshot.New(1, append(documents(t, memberDocs), worlds.SecureMesh(t, world.Catalog(), mtls), &guest)...), world.Dialects(), world.Kinds())
		r, _ := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "caller"})
		for _, o := range r.Outbounds {
			if o.Destination.Name == "pay" && o.Destination.Protocol != want {
				t.Errorf("with mTLS %s pay speaks %s, want %s", mtls, o.Destination.Protocol, want)
			}
		}
	}
}
