package gateway_test

import (
	"testing"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/route/gateway"
)

// TestForeignParents: a route is served nowhere by a parent that weft does not serve, and where its other parents
// are, which may stand before or behind it.
func TestForeignParents(t *testing.T) {
	t.Parallel()
	const foreign, own = "{group: g, kind: Other, name: x}", "{group: '', kind: Service, name: w}"
	for parents, want := range map[string]int{
		foreign:                    0,
		"{kind: Service, name: w}": 0,
		own:                        1,
		foreign + ", " + own + ", {group: g, kind: Other, name: y}": 1,
	} {
		objects, err := decode.Objects(catalog, "f", []byte("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r, namespace: default}\nspec: {parentRefs: ["+parents+"], rules: [{backendRefs: [{name: w, port: 80}]}]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		says := gateway.Dialect.Read(objects[0], nothing{})
		if len(says.Entries) > want {
			t.Errorf("%s: %d entries, want %d: %v", parents, len(says.Entries), want, says.Notes)
		}
		for _, e := range says.Entries {
			if e.To.Kind != "Service" || e.To.Name != "w" {
				t.Errorf("%s: it speaks of %+v", parents, e.To)
			}
		}
	}
}
