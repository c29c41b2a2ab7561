package resolve

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// routeObject is one route object, read once.
type routeObject struct {
	object    *api.Object
	kind      int // in the order of all kinds: the smaller owns a destination; see owners
	dialect   int // in the order of all languages
	opinion   *route.Opinion
	facts     matcher.RouteObject
	selector  *matcher.Selector
	narrowed  map[narrowing]*matcher.Selector // of the dataplanes that entries are for
	rank      rank
	ruleNames map[string]bool
	known     map[string]bool // all by which a sectionName may mean a rule
	reads     []string        // what its dialect looked at: keys of objects, or all of a kind
	tenancy   *api.Tenancy    // of its mesh
	keptOut   bool            // it takes no part in the mesh, and says nothing but why
}

func newRouteObject(o *api.Object, kind, dialect int, d *route.Dialect, see seeing) *routeObject {
	seen, zone := record{See: see}, see.zone
	why := see.keptOut(o)
	says := &route.Opinion{Object: o, Top: api.TargetRef{Kind: api.KindMesh}}
	if why != nil {
		says.Notes = []api.Note{*why}
	} else {
		says = d.Read(o, &seen)
		for i := range d.Types {
			if d.Types[i].Name == o.Kind {
				says.Notes = append(says.Notes, api.AnnotationNotes(o, d.Types[i].Annotations)...)
			}
		}
	}
	role := cmp.Or(says.Role, api.RoleSystem)
	local := localOf(o, role)
	r := &routeObject{object: o, kind: kind, dialect: dialect, opinion: says, facts: matcher.RouteOf(o, zone), ruleNames: map[string]bool{},
		selector: matcher.SelectorOf(says.Top, local), rank: rankOf(o, says.Top, role), tenancy: see.tenancy(), keptOut: why != nil}
	r.own()
	for _, e := range says.Entries {
		r.narrow(&e, local)
		for _, rule := range e.Rules {
			if rule.Origin.Ref == o.Ref && rule.Origin.RuleName != "" {
				r.ruleNames[rule.Origin.RuleName] = true
			}
		}
	}
	r.known = map[string]bool{}
	for _, e := range says.Entries {
		for i := range e.Rules {
			if e.Rules[i].Origin.Ref != o.Ref {
				continue
			}
			for _, name := range r.sections(e.Rules[i].Origin) {
				r.known[name] = true
			}
		}
	}
	if len(seen.asked) > 0 {
		r.reads = slices.Sorted(maps.Keys(seen.asked))
	}
	return r
}

// narrowing is how an entry narrows the dataplanes of its object.
type narrowing struct {
	callers string
	edges   api.Edges
}

// narrow makes the selector of an entry that is not for all dataplanes of the object.
func (r *routeObject) narrow(e *route.Entry, local matcher.Local) {
	by := narrowing{e.Callers, e.Edges}
	if by == (narrowing{}) || r.narrowed[by] != nil {
		return
	}
	if r.narrowed == nil {
		r.narrowed = map[narrowing]*matcher.Selector{}
	}
	if e.Callers != "" {
		local = matcher.Local{Namespace: e.Callers}
	}
	local.Edges, local.Alone = e.Edges, r.opinion.Connections
	r.narrowed[by] = matcher.SelectorOf(r.opinion.Top, local)
}

// selectorOf selects the dataplanes for which an entry is.
func (r *routeObject) selectorOf(e *route.Entry) *matcher.Selector {
	if s := r.narrowed[narrowing{e.Callers, e.Edges}]; s != nil {
		return s
	}
	return r.selector
}

// kindOf finds the dialect of a kind of documents, and the kind's place in the
// order of all kinds of routes; nil for what is no route.
func kindOf(dialects []route.Dialect, kind string) (*route.Dialect, int) {
	place := 0
	for i := range dialects {
		for _, t := range dialects[i].Types {
			if t.Name == kind {
				return &dialects[i], place
			}
			place++
		}
	}
	return nil, 0
}

// contribution is what one route object says about one destination.
type contribution struct {
	route *routeObject
	entry *route.Entry // nil where the rule comes from an object that others include
	rank  rank
	depth int // of an object that includes the rule: how many include it
}

// selector selects the dataplanes for which the entry is.
func (c *contribution) selector() *matcher.Selector {
	if c.entry == nil {
		return c.route.selector
	}
	return c.route.selectorOf(c.entry)
}

// ofConnectionsAtEdges reports whether the entry is about whole connections to listeners of
// edge dataplanes.
func (c *contribution) ofConnectionsAtEdges() bool {
	return c.entry.Edges != (api.Edges{}) && c.route.opinion.Connections
}

// composition is what contributions to a destination come to: one for all classes
// that have the same ones.
type composition struct {
	route.Composition
	from []*contribution // weakest first
}

// compose composes what is said about a destination to those who have the
// contributions that bits mark.
func (m routingMesh) compose(d *dest, all []*contribution, bits string) *composition {
	n := &composition{}
	own := false // what is said to the callers of one namespace hides what is said to all
	// Where edge dataplanes listen for whole connections nobody asks for hosts.
	connections := false
	for i, x := range all {
		own = own || bits[i] == '1' && x.entry.Callers != ""
		connections = connections || bits[i] == '1' && x.ofConnectionsAtEdges()
	}
	var candidates []route.Candidate
	for i, x := range all {
		if bits[i] == '1' && (x.entry.Callers != "") == own && x.ofConnectionsAtEdges() == connections {
			n.from = append(n.from, x)
			candidates = append(candidates, route.Candidate{Opinion: x.route.opinion, Entry: x.entry})
		}
	}
	dialect := &m.dialects[0] // which says what holds where nobody says anything
	if len(n.from) > 0 {
		dialect, _ = kindOf(m.dialects, n.from[0].route.object.Kind)
	}
	if at := spokenFor(d, n.from); len(n.from) == 0 && !at.Protocol.HTTPLike() {
		n.Connections = &route.Composed{Do: route.Itself{}}
	} else {
		n.Composition = dialect.Compose(frontendOf(at), candidates)
	}
	return n
}

// spokenFor is d for those who have the contributions, one of which may know the
// protocol that nobody wrote down.
func spokenFor(d *dest, from []*contribution) *effective.Destination {
	for _, c := range from {
		if at := d.as(c.route.opinion.Speaks); at != d.Destination && !c.route.opinion.Connections {
			return at
		}
	}
	return d.Destination
}

func frontendOf(d *effective.Destination) route.Frontend {
	return route.Frontend{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port, Protocol: d.Protocol, Secure: d.TLS != nil}
}
