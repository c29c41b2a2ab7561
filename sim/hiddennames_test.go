package sim_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/wire"
)

// TestNamesThatAreNotTold: where hosts are owned a name of a service is reached by those alone whose
// sidecar's resolver tells it.
func TestNamesThatAreNotTold(t *testing.T) {
	t.Parallel()
	const shop = `{type: HostnameGenerator, name: shop, spec: {selector: {meshService: {matchLabels: {}}}, template: "{{ .DisplayName }}.shop"}}
---
{type: MeshService, name: bank, mesh: default, labels: {k8s.kuma.io/namespace: b}, spec: {selector: {dataplaneTags: {kuma.io/service: bank}}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}}
---
{type: MeshService, name: evil, mesh: default, labels: {k8s.kuma.io/namespace: a}, spec: {selector: {dataplaneTags: {kuma.io/service: evil}}, ports: [{port: 80, targetPort: 8080, appProtocol: http}]}}
---
{type: Dataplane, name: caller, mesh: default, labels: {k8s.kuma.io/namespace: b}, networking: {address: 10.1.0.1, inbound: [{port: 8080, tags: {kuma.io/service: bank, kuma.io/protocol: http}}], transparentProxying: {redirectPortInbound: 15006, redirectPortOutbound: 15001}}}
---
`
	for mesh, open := range map[string]bool{
		`{type: Mesh, name: default, meshServices: {mode: Exclusive}}`:                                                                                            true,
		`{type: Mesh, name: default, meshServices: {mode: Exclusive}, tenancy: {hosts: {mode: Owned}}}`:                                                           false,
		`{type: Mesh, name: default, meshServices: {mode: Exclusive}, tenancy: {hosts: {mode: Owned, grants: [{namespaces: [a], hosts: ["*.shop", "*.mesh"]}]}}}`: true,
	} {
		objects, err := decode.Objects(world.Catalog(), "", []byte(shop+mesh))
		if api.Refuses(err) {
			t.Fatal(err)
		}
		m, _ := world.Compile(snapshot.New(1, objects...))
		from := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "caller"}
		for _, host := range []string{"bank.shop", "bank.mesh", "evil.shop", "evil.mesh", "evil.a"} {
			_, err := sim.Run(m, from, wire.Request{URL: "http://" + host + "/"})
			told := open || host == "evil.a" || strings.HasPrefix(host, "bank.")
			names := m.Hostnames("default", m.CallsAs(from), nil)
			if host != "evil.a" && slices.ContainsFunc(names.List, func(n reachability.Hostname) bool { return n.Name == host }) != told {
				t.Errorf("%s: the resolver has %v, and told is %v", mesh, names.List, told)
			}
			var missed *lookup.NotReached
			if got := !errors.As(err, &missed); got != told {
				t.Errorf("%s: %s is reached: %v (%v)", mesh, host, got, err)
			}
			if missed != nil && (!strings.Contains(missed.Advice, "tenancy.hosts of Mesh default") || !strings.Contains(missed.Advice, "call http://evil.a:80")) {
				t.Errorf("%s: %s: %s", mesh, host, missed)
			}
		}
	}
}
