package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// composition is what a model is compiled with.
type composition struct {
	catalog  *api.Catalog
	dialects []route.Dialect
	kinds    []*policies.Kind
}

func newComposition(t testing.TB) *composition {
	t.Helper()
	return &composition{catalog: world.Catalog(), dialects: world.Dialects(), kinds: world.Kinds()}
}

// panickingAt are the dialects with a bug: the first panics at objects of that name.
func (c *composition) panickingAt(name string) []route.Dialect {
	dialects := slices.Clone(c.dialects)
	read := dialects[0].Read
	dialects[0].Read = func(o *api.Object, see route.Lister) *route.ParsedRoute {
		if o.Name == name {
			panic("planted")
		}
		return read(o, see)
	}
	return dialects
}

// panickingFor are the dialects with another bug: the first panics where routes are to be composed
// for the frontend of that name.
func (c *composition) panickingFor(frontend string) []route.Dialect {
	dialects := slices.Clone(c.dialects)
	compose := dialects[0].Compose
	dialects[0].Compose = func(f route.Frontend, candidates []route.Candidate) route.Composition {
		if f.Name == frontend && len(candidates) > 0 {
			panic("planted")
		}
		return compose(f, candidates)
	}
	return dialects
}

func describe(changes []snapshot.Change) string {
	var out []string
	for _, c := range changes {
		verb := "put "
		if c.After == nil {
			verb = "delete "
		}
		out = append(out, verb+c.Ref().String())
	}
	return strings.Join(out, ", ")
}
