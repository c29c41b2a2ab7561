package index

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// AmongEdges selects the dataplanes of an entry that is for some edge dataplanes alone.
func (r *Route) AmongEdges(e *route.Entry) *matcher.Selector {
	if e.Edges == (api.Edges{}) {
		return nil
	}
	return r.SelectorOf(e)
}

// Route is one route object, read once.
type Route struct {
	Object       *api.Object
	Kind         int // in the order of all kinds: the smaller owns a destination: see owners of resolve/routing
	Dialect      int // in the order of all languages
	Parsed       *route.ParsedRoute
	facts        matcher.RouteObject
	Selector     *matcher.Selector
	narrowed     map[narrowing]*matcher.Selector // of the dataplanes that entries are for
	Rank         Rank
	RuleNames    map[string]bool
	SectionNames map[string]bool // all by which a sectionName may mean a rule
	Reads        []string        // what its dialect looked at: keys of objects, or all of a kind
	Tenancy      *api.Tenancy    // of its mesh
	Excluded     bool            // it takes no part in the mesh, and says nothing but why
}

func newRouteObject(o *api.Object, kind, dialect int, d *route.Dialect, see Lister) *Route {
	seen, zone := Recorder{Lister: see}, see.ZoneLabels
	why := see.Excluded(o)
	says := &route.ParsedRoute{Object: o, Top: api.TargetRef{Kind: api.KindMesh}}
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
	r := &Route{Object: o, Kind: kind, Dialect: dialect, Parsed: says, facts: matcher.RouteOf(o, zone), RuleNames: map[string]bool{},
		Selector: matcher.SelectorOf(says.Top, local), Rank: rankOf(o, says.Top, role), Tenancy: see.Tenancy(), Excluded: why != nil}
	r.own()
	for _, e := range says.Entries {
		r.narrow(&e, local)
		for _, rule := range e.Rules {
			if rule.Origin.Ref == o.Ref && rule.Origin.RuleName != "" {
				r.RuleNames[rule.Origin.RuleName] = true
			}
		}
	}
	r.SectionNames = map[string]bool{}
	for _, e := range says.Entries {
		for i := range e.Rules {
			if e.Rules[i].Origin.Ref != o.Ref {
				continue
			}
			for _, name := range r.Sections(e.Rules[i].Origin) {
				r.SectionNames[name] = true
			}
		}
	}
	if len(seen.Targets) > 0 {
		r.Reads = slices.Sorted(maps.Keys(seen.Targets))
	}
	return r
}

// narrowing is how an entry narrows the dataplanes of its object.
type narrowing struct {
	callers string
	edges   api.Edges
}

// narrow makes the selector of an entry that is not for all dataplanes of the object.
func (r *Route) narrow(e *route.Entry, local matcher.Local) {
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
	local.Edges, local.Alone = e.Edges, r.Parsed.Connections
	r.narrowed[by] = matcher.SelectorOf(r.Parsed.Top, local)
}

// SelectorOf selects the dataplanes for which an entry is.
func (r *Route) SelectorOf(e *route.Entry) *matcher.Selector {
	if s := r.narrowed[narrowing{e.Callers, e.Edges}]; s != nil {
		return s
	}
	return r.Selector
}

// KindOf finds the dialect of a kind of documents, and the kind's place in the
// order of all kinds of routes; nil for what is no route.
func KindOf(dialects []route.Dialect, kind string) (*route.Dialect, int) {
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

// Contribution is what one route object says about one destination.
type Contribution struct {
	Route *Route
	Entry *route.Entry // nil where the rule comes from an object that others include
	Rank  Rank
	Depth int // of an object that includes the rule: how many include it
}

// Selector selects the dataplanes for which the entry is.
func (c *Contribution) Selector() *matcher.Selector {
	if c.Entry == nil {
		return c.Route.Selector
	}
	return c.Route.SelectorOf(c.Entry)
}

// OfConnectionsAtEdges reports whether the entry is about whole connections to listeners of
// edge dataplanes.
func (c *Contribution) OfConnectionsAtEdges() bool {
	return c.Entry.Edges != (api.Edges{}) && c.Route.Parsed.Connections
}

// InTable reports whether a rule of the route, or the one that section names, is in
// the table.
func (r *Route) InTable(t *effective.Table, section string) bool {
	return slices.ContainsFunc(t.Routes, func(rt *effective.Route) bool {
		return slices.ContainsFunc(rt.Origins, func(o *api.Origin) bool {
			return o.Ref == r.Object.Ref && (section == "" || slices.Contains(r.Sections(o), section))
		})
	})
}

// Ownership is negative where r is of a kind that owns a destination before that
// of o.
func (r *Route) Ownership(o *Route) int {
	x, y := r.Parsed.Connections, o.Parsed.Connections
	switch {
	case x && !y:
		return 1
	case y && !x:
		return -1
	}
	return cmp.Compare(r.Kind, o.Kind)
}
