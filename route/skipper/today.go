package skipper

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Today is a group of the draft in the words of today; false where it is so already, or
// where it is no group.
func (g *RouteGroup) Today() (api.Spec, bool) {
	c, err := g.upgrade("spec")
	if err != nil || len(c.draft) == 0 {
		return g, false
	}
	out := &RouteGroup{Hosts: g.Hosts, TLS: g.TLS, DefaultBackends: refsOf(c.defaults)}
	for i := range g.Backends {
		b := g.Backends[i]
		for name, x := range c.backends {
			if x.Backend == &g.Backends[i] {
				b.Name = name
			}
		}
		b.Default, b.Weight = false, nil
		out.Backends = append(out.Backends, b)
	}
	for _, r := range c.routes {
		now := *r.Route
		now.Method, now.Backend, now.Methods, now.Backends = nil, "", upper(r.methods), refsOf(r.refs)
		out.Routes = append(out.Routes, now)
	}
	return out, true
}

// upper are methods as the published definition wants them.
func upper(methods []string) []string {
	out := slices.Clone(methods)
	for i := range out {
		out[i] = strings.ToUpper(out[i])
	}
	return out
}

func refsOf(refs []ref) []BackendRef {
	var out []BackendRef
	for _, r := range refs {
		out = append(out, BackendRef{r.name, r.weight})
	}
	return out
}
