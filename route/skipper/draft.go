package skipper

import (
	"fmt"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// current is a group in the words of today, with the places at which the document
// says its parts: of a draft these are not where the document of today has them.
type current struct {
	hosts    []string
	backends map[string]*backendAt // by unique names
	defaults []ref
	routes   []routeAt
	draft    []api.Path // where the document speaks the draft's language
}

type backendAt struct {
	*Backend
	at        api.Path
	addresses []addressAt // of network and lb, once validated
}

type routeAt struct {
	*Route
	methods Words
	refs    []ref // none: the defaults
	at      api.Path
}

// ref is a reference to a backend.
type ref struct {
	name   string
	weight *uint32
	at     api.Path
}

// upgrade reads a group that may be a draft (spec/routegroup.md 2).
func (g *RouteGroup) upgrade(at api.Path) (*current, error) {
	out := &current{hosts: g.Hosts, backends: map[string]*backendAt{}}
	sets, err := out.addBackends(g, at.Field("backends"))
	var errs *multierror.Error
	errs = multierror.Append(errs, err)
	for i := range g.DefaultBackends {
		out.defaults = append(out.defaults, g.DefaultBackends[i].ref(at.Field("defaultBackends").Index(i)))
	}
	errs = multierror.Append(errs, out.addDefaults(g, at.Field("backends")))
	for i := range g.Routes {
		r, err := out.route(&g.Routes[i], at.Field("routes").Index(i), sets)
		out.routes, errs = append(out.routes, r), multierror.Append(errs, err)
	}
	if len(g.Routes) == 0 && len(out.defaults) == 0 {
		if len(g.Backends) != 1 {
			errs = multierror.Append(errs, refused(at, invalidSpec, "missing backend reference: there are neither routes nor defaultBackends; write defaultBackends"))
		} else {
			out.draft = append(out.draft, at.Field("backends").Index(0))
			out.defaults = []ref{{name: g.Backends[0].Name, at: at.Field("backends").Index(0)}}
		}
	}
	return out, errs.ErrorOrNil()
}

func (b *BackendRef) ref(at api.Path) ref { return ref{b.BackendName, b.Weight, at} }

// addBackends gives each backend a name of its own. Of several with one name, which
// the draft has for a traffic switch, sets has the names that they become.
func (c *current) addBackends(g *RouteGroup, at api.Path) (sets map[string][]ref, err error) {
	var errs *multierror.Error
	if len(g.Backends) == 0 {
		errs = multierror.Append(errs, refused(at, invalidSpec, "route group without backend; write at least one"))
	}
	sets = map[string][]ref{}
	for i := range g.Backends {
		b, here := &g.Backends[i], at.Index(i)
		name := b.Name
		switch first := c.backends[name]; {
		case name == "":
			errs = multierror.Append(errs, refused(here.Field("name"), invalidSpec, "unnamed backend; write a name"))
			continue
		case first != nil && !(first.Default && b.Default):
			errs = multierror.Append(errs, refused(here.Field("name"), invalidSpec, "backends with duplicate name %s; give each its own", redact.Clip(name)))
			continue
		case first != nil:
			for n := 2; c.backends[name] != nil; n++ {
				name = fmt.Sprintf("%s-%d", b.Name, n)
			}
		}
		c.backends[name] = &backendAt{Backend: b, at: here}
		if b.Default {
			sets[b.Name] = append(sets[b.Name], ref{name, b.Weight, here})
		}
	}
	return sets, errs.ErrorOrNil()
}

// addDefaults takes the backends that the draft marks as default.
func (c *current) addDefaults(g *RouteGroup, at api.Path) error {
	var errs *multierror.Error
	names := map[string]int{}
	for i := range g.Backends {
		b, here := &g.Backends[i], at.Index(i)
		switch {
		case b.Default && len(g.DefaultBackends) > 0:
			errs = multierror.Append(errs, refused(here.Field("default"), invalidSpec, "the backend is default, and there are defaultBackends too; remove one of them"))
		case b.Default:
			name := b.Name
			if names[name]++; names[name] > 1 {
				name = fmt.Sprintf("%s-%d", name, names[name])
			}
			c.draft = append(c.draft, here.Field("default"))
			c.defaults = append(c.defaults, ref{name, b.Weight, here})
		case b.Weight != nil:
			errs = multierror.Append(errs, refused(here.Field("weight"), invalidSpec, "a weight has no meaning without default: true; write it beside backendName"))
		}
	}
	return errs.ErrorOrNil()
}

// route is a route whose method and backend are those of today.
func (c *current) route(r *Route, at api.Path, sets map[string][]ref) (routeAt, error) {
	var errs *multierror.Error
	out := routeAt{Route: r, methods: r.Methods, at: at}
	if len(r.Method) > 0 {
		c.draft = append(c.draft, at.Field("method"))
		if len(r.Methods) > 0 {
			errs = multierror.Append(errs, refused(at.Field("method"), invalidSpec, "method and methods are two words for one thing; remove method"))
		}
		out.methods = r.Method
	}
	for i := range r.Backends {
		out.refs = append(out.refs, r.Backends[i].ref(at.Field("backends").Index(i)))
	}
	if r.Backend != "" {
		c.draft = append(c.draft, at.Field("backend"))
		if len(r.Backends) > 0 {
			errs = multierror.Append(errs, refused(at.Field("backend"), invalidSpec, "backend and backends are two words for one thing; remove backend"))
		}
		out.refs = []ref{{name: r.Backend, at: at.Field("backend")}}
		if set := sets[r.Backend]; len(set) > 1 {
			out.refs = set
		}
	}
	return out, errs.ErrorOrNil()
}

// draftNote says where a document speaks the language of the draft.
func (c *current) draftNote() (field api.Path, message string, ok bool) {
	if len(c.draft) == 0 {
		return "", "", false
	}
	places := make([]string, len(c.draft))
	for i, at := range c.draft {
		places[i] = string(at)
	}
	return c.draft[0], "the document is written as in the draft of RouteGroup (" + strings.Join(places, ", ") +
		"); it is read as meant: write methods, backends and defaultBackends instead", true
}
