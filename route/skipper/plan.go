package skipper

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/route/skipper/eskip"
)

// plan is what a group means, whichever host is asked for.
type plan struct {
	hosts  []string
	routes []*planned
	notes  []api.Note
	guards []api.Note // what is wrong where there is no authorization service
	// addresses are all that backends and filters name, used or not.
	addresses []addressAt
}

// lacks is what is wrong where the control plane has settings.
func (p *plan) lacks(s Settings, ref api.Ref) []api.Note {
	var out []api.Note
	if !s.Authorization {
		out = append(out, p.guards...)
	}
	for _, a := range p.addresses {
		if why := s.Addresses.refuse(a.Host); why != "" {
			out = append(out, api.Note{Origin: &api.Origin{Ref: ref}, Severity: api.Error, Code: unsupportedBackend, Field: a.at,
				Message: why + "; the RouteGroup is not applied, so name a service, or give the control plane --backend-addresses with that host"})
		}
	}
	return out
}

// planned is one route of a group.
type planned struct {
	origin  *api.Origin
	path    pattern
	leafs   []string // the keys of its leaves
	hasPath bool
	subtree bool
	asks    *asks
	weight  int  // without what the hosts of its group count
	bare    bool // it asks nothing but the host
	parts   []part
	effects map[string]*effect // by kind of part
	guards  []api.Note
	// addresses are those that its filters name.
	addresses []addressAt
}

// planOf reads a group, which stands at at, in the object o. With an error there is
// no plan: a group is taken as a whole.
func planOf(g *RouteGroup, o *api.Object, at api.Path) (*plan, error) {
	var errs *multierror.Error
	c, err := g.upgrade(at)
	errs = multierror.Append(errs, err, c.validateBackends(), checkHosts(g.Hosts, at.Field("hosts")))
	home := api.Home{System: true}
	ref := api.Ref{}
	if o != nil {
		home, ref = o.Home(), o.Ref
	}
	out := &plan{hosts: g.Hosts}
	for _, name := range slices.Sorted(maps.Keys(c.backends)) {
		out.addresses = append(out.addresses, c.backends[name].addresses...)
	}
	routes := c.routes
	if len(routes) == 0 { // everything goes to the default backends
		routes = []routeAt{{Route: &Route{}, at: at.Field("defaultBackends")}}
	}
	seen := map[string]bool{}
	for i := range routes {
		p, notes, found := c.plan(&routes[i], &api.Origin{Ref: ref, Rule: &i, Field: routes[i].at}, home)
		out.routes, out.notes, out.guards = append(out.routes, p), append(out.notes, notes...), append(out.guards, p.guards...)
		out.addresses = append(out.addresses, p.addresses...)
		for _, err := range found {
			if !seen[err.Error()] { // the default backends are many routes'
				seen[err.Error()] = true
				errs = multierror.Append(errs, err)
			}
		}
	}
	errs = multierror.Append(errs, checkSegments(out.routes), checkLoopbacks(out.routes))
	if err := errs.ErrorOrNil(); err != nil {
		return nil, err
	}
	out.notes = append(out.notes, c.notes(g, at, ref, out.routes)...)
	return out, nil
}

// plan reads one route.
func (c *current) plan(r *routeAt, origin *api.Origin, home api.Home) (*planned, []api.Note, []error) {
	p := &planned{origin: origin, effects: map[string]*effect{}}
	errs := p.readPath(r)
	predicates, found := readCalls(r.Predicates, r.at.Field("predicates"), eskip.And, "predicate")
	errs = append(errs, found...)
	var bad []error
	p.asks, bad = readPredicates(predicates)
	errs = append(errs, bad...)
	errs = append(errs, p.readRest(r)...)
	if p.asks.segment != nil && p.asks.draws() {
		errs = append(errs, refused(r.at.Field("predicates"), unsupportedPredicate, "Traffic and TrafficSegment stand in one route, and Envoy draws once for a request; write one of them"))
	}
	p.weight = p.asks.weight
	p.bare = !p.hasPath && len(r.methods) == 0 && r.PathRegexp == "" && len(predicates) == 0
	if r.PathRegexp != "" {
		p.weight++
	}
	if len(r.methods) > 0 {
		p.weight++
	}
	p.leafs = p.leafKeys()
	refs := r.refs
	if len(refs) == 0 {
		refs = c.defaults
		if len(refs) == 0 {
			errs = append(errs, refused(r.at.Field("backends"), invalidSpec, "missing backend reference: the route has no backends, and there are no defaultBackends; write one of them"))
		}
	}
	p.parts, bad = c.parts(refs, home)
	errs = append(errs, bad...)
	calls, found := readCalls(r.Filters, r.at.Field("filters"), eskip.Then, "filter")
	errs = append(errs, found...)
	notes, bad := p.readEffects(calls)
	return p, notes, slices.Concat(errs, bad, p.leadOutside(), p.checkHosts())
}

// readEffects reads the filters for each kind of part, for what one may do depends on it.
func (p *planned) readEffects(calls []call) (notes []api.Note, errs []error) {
	kinds := []string{service}
	if len(p.parts) > 0 {
		kinds = nil
	}
	for _, x := range p.parts {
		if !slices.Contains(kinds, x.kind) {
			kinds = append(kinds, x.kind)
		}
	}
	for i, kind := range kinds {
		e, bad := readFilters(calls, (&backendAt{Backend: &Backend{Type: kind}}).use(), p)
		p.effects[kind] = e
		if i == 0 || kind == service {
			p.addresses = append(p.addresses, e.copies...)
		}
		for _, err := range bad {
			if !slices.ContainsFunc(errs, func(x error) bool { return x.Error() == err.Error() }) {
				errs = append(errs, err)
			}
		}
		if i == 0 {
			notes, p.guards = e.notes, e.guards
		}
	}
	return notes, errs
}

// readCalls reads a list of predicates or filters.
func readCalls(list []string, at api.Path, joint, what string) (out []call, errs []error) {
	for i, text := range list {
		c, err := readCall(text, at.Index(i), joint, what)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, c)
	}
	return out, errs
}

func (p *planned) readPath(r *routeAt) (errs []error) {
	text, at := r.Path, r.at.Field("path")
	if r.PathSubtree != "" {
		if r.Path != "" {
			return []error{refused(at, invalidSpec, "path and path subtree in the same route; remove one of them")}
		}
		text, at, p.subtree = r.PathSubtree, r.at.Field("pathSubtree"), true
	}
	if text == "" {
		return nil
	}
	path, err := parsePattern(text, p.subtree)
	if err == nil && !match.IsASCII(text) {
		return []error{refused(at, invalidSpec, "the path %q has characters that no URL has; write it as requests do: %s", redact.Clip(text), redact.Clip(match.PercentEncoded(text)))}
	}
	if err != nil {
		return []error{refused(at, invalidSpec, "%s: %v", redact.Clip(text), err)}
	}
	p.path, p.hasPath = path, true
	if _, err := path.with(segment{kind: rest}).condition(); err != nil {
		return []error{refused(at, invalidSpec, "%v; write a shorter path", err)}
	}
	return nil
}

// readRest reads pathRegexp and methods, which stand beside the predicates.
func (p *planned) readRest(r *routeAt) (errs []error) {
	if r.PathRegexp != "" {
		c := &call{Call: eskip.Call{Name: "pathRegexp"}, at: r.at.Field("pathRegexp")}
		if err := p.asks.matches(c, match.OnPath, "", r.PathRegexp); err != nil {
			errs = append(errs, err)
		}
	}
	if len(r.methods) == 0 {
		return errs
	}
	at := r.at.Field("methods")
	if len(r.Route.Method) > 0 {
		at = r.at.Field("method")
	}
	var names []string
	for i, m := range r.methods {
		if m = strings.ToUpper(m); !isMethod(m) {
			errs = append(errs, refused(at.Index(i), invalidSpec, "invalid method %q; write one such as %s", redact.Clip(m), http.MethodGet))
		}
		names = append(names, m)
	}
	if is, err := match.Among(match.OnMethod, "", names...); err == nil {
		p.asks.all = append(p.asks.all, is)
	}
	return errs
}

// isMethod wants a token in capitals: Skipper takes any, as PUSH.
func isMethod(name string) bool {
	return name != "" && len(name) <= 32 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == ""
}

func checkHosts(hosts []string, at api.Path) error {
	var errs *multierror.Error
	for i, h := range hosts {
		here := at.Index(i)
		if slices.Index(hosts, h) < i {
			errs = multierror.Append(errs, refused(here, invalidSpec, "duplicate host %s; write it once", redact.Clip(h)))
		}
		errs = multierror.Append(errs, api.ValidateHostname(here, cmp.Or(h, "?")))
	}
	return errs.ErrorOrNil()
}
