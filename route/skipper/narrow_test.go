package skipper_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// aroundGroup is what a RouteGroup is served with.
const aroundGroup = `
{type: Dataplane, mesh: default, name: client, networking: {address: 127.0.0.1, outbound: [{port: 10001, hosts: {port: 80}}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}, addressType: IPv4, ports: [{port: 80}], endpoints: [{addresses: [127.0.0.2]}]}
---
`

// TestFiltersWithoutEffectRefuseNothing: a filter that has no effect beside another, or on some
// backends, is told, and the group is served with all the rest.
func TestFiltersWithoutEffectRefuseNothing(t *testing.T) {
	t.Parallel()
	const moved = `backends: [{name: no, type: shunt}], defaultBackends: [{backendName: no}], routes: [{pathSubtree: /old, filters: [%s]}]`
	for _, c := range []struct{ name, spec, path, want, note string }{
		{"fadeIn with consistentHash", `backends: [{name: web, type: service, serviceName: web, servicePort: 80, algorithm: consistentHash}], defaultBackends: [{backendName: web}], routes: [{pathSubtree: /, filters: ['fadeIn("2m")', 'consistentHashKey("${request.header.X-User}")']}]`, "/x", "forward", "new endpoints get their part slowly where"},
		{"fadeIn with random", `backends: [{name: web, type: service, serviceName: web, servicePort: 80, algorithm: random}], defaultBackends: [{backendName: web}], routes: [{pathSubtree: /, filters: ['fadeIn("2m")']}]`, "/x", "forward", "new endpoints get their part slowly where"},
		{"modPath with redirectTo", strings.Replace(moved, "%s", `'modPath("^/old", "/new")', 'redirectTo(308, "https://new.example")'`, 1), "/old/x", "https://new.example/new/x", ""},
		{"setPath with redirectTo", strings.Replace(moved, "%s", `'setPath("/new")', 'redirectTo(308, "https://new.example")'`, 1), "/old/x", "https://new.example/new", ""},
		{"modPath behind redirectTo", strings.Replace(moved, "%s", `'redirectTo(308, "https://new.example")', 'modPath("^/old", "/new")'`, 1), "/old/x", "https://new.example/old/x", "stands behind redirectTo"},
		{"a request's header with redirectTo", strings.Replace(moved, "%s", `'setRequestHeader("X-A", "b")', 'redirectTo(308, "https://new.example")'`, 1), "/old/x", "https://new.example/old/x", "no backend sees the requests"},
	} {
		objects, found := world.Decode("x.yaml", []byte(aroundGroup+`{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: g, namespace: shop}, spec: {hosts: [g.example], `+c.spec+`}}`))
		if len(found) > 0 {
			t.Errorf("%s: %v", c.name, found)
			continue
		}
		m, _ := world.Compile(world.Snapshot(objects...))
		v, err := sim.Run(m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client"}, wire.Request{URL: "http://g.example" + c.path})
		if err != nil {
			t.Fatal(err)
		}
		got := string(v.Branches[0].Outcome)
		if v.Branches[0].Location != "" {
			got = v.Branches[0].Location
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		notes := ""
		for _, n := range m.Reader(nil).NotesOn(api.Ref{Kind: "RouteGroup", Mesh: "default", Namespace: "shop", Name: "g"}) {
			notes += n.Message + "\n"
		}
		if !strings.Contains(notes, c.note) {
			t.Errorf("%s: %q does not say %q", c.name, notes, c.note)
		}
	}
}
