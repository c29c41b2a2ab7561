package policies_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/policies/internal/policytest"
)

// Which routes a policy may target follows from the catalog alone: a dialect that
// is added there is known with its group, and no other one is.
func TestRouteKindsAreThoseOfTheCatalog(t *testing.T) {
	t.Parallel()
	toy := api.Type{Name: "ToyRoute", Plural: "toyroutes", Short: "tr", Group: "example.com", Version: "v1", Route: true, Attach: true}
	silent := api.Type{Name: "ToyTable", Plural: "toytables", Short: "tt", Group: "example.com", Version: "v1", Route: true}
	without := policytest.CatalogOf(all.Kinds...)
	with := api.NewCatalog(append(without.Types(), toy, silent)...)
	for _, c := range []struct {
		catalog   *api.Catalog
		ref, want string
	}{
		{with, "{kind: ToyRoute, name: a}", ""},
		{with, "{kind: ToyRoute, group: example.com, name: a, sectionName: b}", ""},
		{with, "{kind: ToyRoute, group: kuma.io, name: a}", "takes no group; write example.com or remove it"},
		{with, "{kind: ToyRoute}", "a ref to a ToyRoute needs a name or labels"},
		{with, "{kind: ToyTable, name: a}", "no policy attaches to a ToyTable; target the destination that it routes, or write one of Mesh"},
		{with, "{kind: Toyroute, name: a}", "did you mean ToyRoute?"},
		{without, "{kind: ToyRoute, name: a}", `unknown value "ToyRoute"`},
	} {
		for _, place := range []string{"targetRef: " + c.ref + "\n  to: [{targetRef: {kind: Mesh}, default: ", "to: [{targetRef: " + c.ref + ", default: "} {
			_, err := decode.Objects(c.catalog, "f", []byte("type: MeshTimeout\nname: a\nspec:\n  "+place+"{http: {requestTimeout: 1s}}}]\n"))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: got %v, want %q", place, err, c.want)
			}
		}
	}
}
