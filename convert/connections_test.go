package convert_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
)

// Routes for connections are told, each at every parent: no language for requests has words
// for them.
func TestRoutesForConnectionsAreLeftOut(t *testing.T) {
	t.Parallel()
	objects, found := world.Decode("test.yaml", []byte(`
{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: bytes, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: db}, {name: public}], rules: [{backendRefs: [{name: db, port: 5432}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TLSRoute, metadata: {name: names, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: db, port: 5432}, {name: public}], hostnames: [a.test, b.test], rules: [{backendRefs: [{name: db, port: 5432}]}]}}
`))
	if len(found) > 0 {
		t.Fatal(found)
	}
	for _, kind := range []string{"MeshHTTPRoute", "HTTPRoute", "HTTPProxy", "RouteGroup"} {
		got := convert.Objects(objects, convert.Options{Catalog: world.Catalog(), Dialects: world.Dialects(), Kind: kind})
		if len(got.Objects) > 0 {
			t.Errorf("%s: %d objects", kind, len(got.Objects))
		}
		for _, name := range []string{"bytes", "names"} {
			for _, at := range []api.Path{"spec.parentRefs[0]", "spec.parentRefs[1]"} {
				if !slices.ContainsFunc(got.Notes, func(n api.Note) bool {
					return n.Origin.Name == name && n.Severity == api.Error && n.Field == at && strings.Contains(n.Message, "about connections")
				}) {
					t.Errorf("%s: nothing is said of %s at %s: %v", kind, name, at, got.Notes)
				}
			}
		}
	}
}
