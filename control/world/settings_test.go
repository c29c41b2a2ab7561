package world_test

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
)

// TestRootsOfSomeNamespaces: with root namespaces only HTTPProxies of those serve a host.
func TestRootsOfSomeNamespaces(t *testing.T) {
	t.Parallel()
	objects, violations := world.Decode("proxy.yaml", []byte(`
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: a, namespace: team}
spec: {virtualhost: {fqdn: a.example.org}, routes: [{directResponsePolicy: {statusCode: 410}}]}
`))
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	for _, c := range []struct {
		roots  []string
		served bool
	}{{nil, true}, {[]string{"platform", "team"}, true}, {[]string{"platform"}, false}} {
		model, _ := world.Settings{RootNamespaces: c.roots}.Compile(world.Snapshot(objects...))
		if _, served := model.Destination("default", "host_a.example.org:80"); served != c.served {
			t.Errorf("roots in %q: served %v", c.roots, served)
		}
	}
}

// TestGrantsAtServices: a route at a Service sends to another namespace as it likes, unless
// grants are required there too.
func TestGrantsAtServices(t *testing.T) {
	t.Parallel()
	objects, violations := world.Decode("routes.yaml", []byte(`
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: lent}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: kept}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {name: shop, namespace: lent}, spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}], to: [{group: "", kind: Service}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web}], rules: [
  {backendRefs: [{name: web, namespace: lent, port: 80}]}, {backendRefs: [{name: web, namespace: kept, port: 80}]}]}}
`))
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	for granted, want := range map[bool][]api.Path{false: nil, true: {"spec.rules[1].backendRefs[0]"}} {
		model, notes := world.Settings{MeshGrants: granted}.Compile(world.Snapshot(objects...))
		var refused []api.Path
		for _, n := range append(notes, model.Reader(nil).NotesOn(api.Ref{Kind: "HTTPRoute", Mesh: "default", Namespace: "shop", Name: "r"})...) {
			if n.Code == "RefNotPermitted" {
				refused = append(refused, n.Field)
			}
		}
		if slices.Sort(refused); !slices.Equal(slices.Compact(refused), want) {
			t.Errorf("granted %v: refused %q, wanted %q", granted, refused, want)
		}
	}
}
