package routing

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// wider are the contributions for all hosts below a name of which d is one, from the
// kind that is named the most exactly: those of an object with the same kind and Edges
// as one that names d itself.
func (m Mesh) wider(d *services.Destination, exact []*index.Contribution) []*index.Contribution {
	var out []*index.Contribution
	for _, name := range d.HostsAbove() {
		for r := range m.RoutesByTarget.Values(m.At, name) {
			for i := range r.Parsed.Entries {
				e := &r.Parsed.Entries[i]
				if !e.Below || e.To.Name != name || e.To.Kind != api.KindHost || !matcher.Claims(e.To, &d.Facts) || r.Object.Shadow() || len(e.Rules) == 0 {
					continue
				}
				if slices.ContainsFunc(exact, func(c *index.Contribution) bool { return c.Route.Kind == r.Kind && c.Entry.Edges == e.Edges }) {
					out = append(out, &index.Contribution{Route: r, Entry: e, Rank: r.Rank.Of(e.To, e.Index)})
				}
			}
		}
	}
	return out
}

// SubjectsOf is what is said about a destination; nothing where finding that failed.
func (m Mesh) SubjectsOf(d *services.Destination) *Subjects {
	if s, _ := m.Subjects.Get(m.At, d.Key); s != nil {
		return s
	}
	return &Subjects{Routing: &Routing{}}
}

// Speaker is the route object of that ref, if its rules may be about the destination.
func (s *Subjects) Speaker(ref api.Ref) *index.Route {
	if r := s.read[ref]; r != nil {
		return r
	}
	for _, c := range s.Contributions {
		if c.Route.Object.Ref == ref {
			return c.Route
		}
	}
	return nil
}

// Standing yields by which routes, and how, policies are attached to a merged rule, weakest first: to routes that
// include it, to the routes that it comes from, and to those of their rules that it comes from (SectionsOf). Each
// layer has the routes in their order (spec/kuma.md 4.3); what names one rule comes after all that names a whole
// route (4.7). Nothing is attached to a rule that holds without policies.
func (s *Subjects) Standing(r *route.MergedRule, from []*index.Contribution) iter.Seq2[merge.LayerName, *index.Contribution] {
	return func(yield func(merge.LayerName, *index.Contribution) bool) {
		if r.NoPolicies {
			return
		}
		for depth, o := range r.IncludedBy {
			if x := s.Speaker(o.Ref); x != nil && !yield(merge.Include, &index.Contribution{Route: x, Rank: x.Rank, Depth: depth}) {
				return
			}
		}
		by := s.contributors(r, from)
		for _, layer := range []merge.LayerName{merge.Route, merge.Rule} {
			for _, c := range by {
				if !yield(layer, c) {
					return
				}
			}
		}
	}
}

// SectionsOf are the sectionNames of those rules of a route that a merged rule comes from.
func SectionsOf(r *route.MergedRule, by *index.Route) []string {
	var out []string
	for _, o := range r.Origins {
		if o.Ref == by.Object.Ref {
			out = append(out, by.Sections(o)...)
		}
	}
	return out
}

// contributors are the route objects behind a rule, weakest first, each once, by
// the weakest of what they say about the destination; those that others include last.
func (s *Subjects) contributors(r *route.MergedRule, from []*index.Contribution) []*index.Contribution {
	var out []*index.Contribution
	for _, c := range from {
		if !speaks(out, c.Route) && slices.ContainsFunc(r.Origins, func(o *api.Origin) bool { return o.Ref == c.Route.Object.Ref }) {
			out = append(out, c)
		}
	}
	for _, o := range r.Origins {
		if x := s.read[o.Ref]; x != nil && !speaks(out, x) {
			out = append(out, &index.Contribution{Route: x, Rank: x.Rank})
		}
	}
	return out
}

func speaks(list []*index.Contribution, x *index.Route) bool {
	return slices.ContainsFunc(list, func(o *index.Contribution) bool { return o.Route == x })
}

// Routing is what route objects say about one destination.
type Routing struct {
	Contributions []*index.Contribution // weakest first
	// read are the route objects that the contributing ones have looked at, whose
	// rules may be among theirs.
	read map[api.Ref]*index.Route
}

// Subjects is everything that is said about one destination, in the order in
// which it overrides each other; the dataplanes differ only in which of it
// concerns them.
type Subjects struct {
	*Routing
	Items    []*index.Item // that attach to no route, weakest first
	Attached map[*index.Route]*Attachments
	// Selectors are the distinct ones that do not select everything, by key.
	Selectors []*matcher.Selector
}

// Attachments are the items that attach to a route for one destination, weakest
// first: to the whole of it, and to what a sectionName names.
type Attachments struct {
	all       []*index.Item
	Whole     []*index.Item
	bySection map[string][]*index.Item
}

func newAttachments(all []*index.Item) *Attachments {
	a := &Attachments{all: all, bySection: map[string][]*index.Item{}}
	for _, it := range all {
		if name := it.RouteRef().SectionName; name != "" {
			a.bySection[name] = append(a.bySection[name], it)
		} else {
			a.Whole = append(a.Whole, it)
		}
	}
	return a
}

// To lists the items attached to rules of a route that a merged rule comes from, weakest first.
func (a *Attachments) To(r *route.MergedRule, by *index.Route) []*index.Item {
	if len(a.bySection) == 0 {
		return nil
	}
	var out []*index.Item
	for _, name := range SectionsOf(r, by) {
		out = append(out, a.bySection[name]...)
	}
	slices.SortFunc(out, index.ByRank)
	return slices.Compact(out)
}

// addSubjects derives what is said about each destination.
func (c *Stage) addSubjects() {
	c.Routing = derive.Derive(c.below.Schema, "routing", c.below.Destinations, derive.Values[Routing]{Equal: (*Routing).equal},
		func(r *derive.Reader, id string) *Routing {
			return c.Mesh(r).gatherRouting(index.Need(c.below.Destinations, r, id))
		})
	c.Subjects = derive.Derive(c.below.Schema, "subjects", c.below.Destinations, derive.Values[Subjects]{Equal: (*Subjects).equal},
		func(r *derive.Reader, id string) *Subjects {
			return c.Mesh(r).gatherSubjects(index.Need(c.below.Destinations, r, id), index.Need(c.Routing, r, id))
		})
	c.Selectors = derive.Derive(c.below.Schema, "selectors", c.Subjects, derive.Values[Selectors]{Equal: (*Selectors).Equal}, func(r *derive.Reader, id string) *Selectors {
		return &Selectors{index.Need(c.Subjects, r, id).Selectors}
	})
}

// Equal reports whether both tell the same classes apart.
func (s *Selectors) Equal(o *Selectors) bool {
	return slices.EqualFunc(s.List, o.List, func(x, y *matcher.Selector) bool { return x.Key == y.Key })
}

func (r *Routing) equal(o *Routing) bool {
	return slices.EqualFunc(r.Contributions, o.Contributions, func(a, b *index.Contribution) bool { return *a == *b }) && maps.Equal(r.read, o.read)
}

func (s *Subjects) equal(o *Subjects) bool {
	return s.Routing == o.Routing && slices.Equal(s.Items, o.Items) &&
		maps.EqualFunc(s.Attached, o.Attached, func(a, b *Attachments) bool { return slices.Equal(a.all, b.all) })
}

func (m Mesh) gatherRouting(d *services.Destination) *Routing {
	x := &Routing{}
	for r := range index.InAny(m.At, m.RoutesByTarget, append(d.LinkNames(), index.Any)...) {
		for i := range r.Parsed.Entries {
			e := &r.Parsed.Entries[i]
			if !r.Object.Shadow() && matcher.Destination(e.To, r.Object.Home(), &d.Facts) {
				x.Contributions = append(x.Contributions, &index.Contribution{Route: r, Entry: e, Rank: r.Rank.Of(e.To, e.Index)})
			}
		}
	}
	x.Contributions = owners(x.Contributions, d)
	x.Contributions = append(x.Contributions, m.wider(d, x.Contributions)...)
	slices.SortFunc(x.Contributions, func(a, b *index.Contribution) int { return a.Rank.Compare(b.Rank) })
	for _, c := range x.Contributions {
		if len(c.Route.Reads) == 0 {
			continue
		}
		for r := range m.ReadBy(c.Route) {
			if x.read == nil {
				x.read = map[api.Ref]*index.Route{}
			}
			x.read[r.Object.Ref] = r
		}
	}
	return x
}

func (m Mesh) gatherSubjects(d *services.Destination, x *Routing) *Subjects {
	s := &Subjects{Routing: x, Attached: map[*index.Route]*Attachments{}}
	for p := range index.InAny(m.At, m.PoliciesByTarget, append(d.LinkNames(), index.Any)...) {
		for _, it := range p.Items {
			if it.RouteRef() == nil && it.Selects(&d.Facts) {
				s.Items = append(s.Items, it)
			}
		}
	}
	slices.SortFunc(s.Items, index.ByRank)
	attach := func(r *index.Route) {
		if _, ok := s.Attached[r]; !ok {
			s.Attached[r] = newAttachments(m.attachedTo(r, &d.Facts))
		}
	}
	for _, c := range x.Contributions {
		attach(c.Route)
	}
	for _, r := range x.read {
		attach(r)
	}
	s.Selectors = s.distinctSelectors()
	return s
}

// owners keeps the contributions of the one kind that owns a destination
// (spec/kuma.md 2.3): the first that says something. Those for connections come after
// all others, and alone count where there are no requests. What is said to callers of
// one namespace has an owner of its own, but one of an earlier language than what is
// said to all stands in nobody's way; so has what is said for some edge dataplanes.
func owners(all []*index.Contribution, d *services.Destination) []*index.Contribution {
	all = slices.DeleteFunc(all, func(c *index.Contribution) bool {
		return len(c.Entry.Rules) == 0 || !d.Reads(c.Route.Parsed.Speaks) && !c.Route.Parsed.Connections
	})
	return slices.DeleteFunc(slices.Clone(all), func(c *index.Contribution) bool { return before(all, c.Route, c.Entry) != nil })
}

// before is a route object that keeps an entry of r from the destination that all
// say something about; nil where none does.
func before(all []*index.Contribution, r *index.Route, e *route.Entry) *index.Route {
	for _, c := range slices.Backward(all) {
		switch {
		case c.Entry.Callers == e.Callers && c.Entry.Edges == e.Edges && c.Route.Ownership(r) < 0,
			c.Entry.Callers == "" && c.Route.Dialect < r.Dialect && !c.Route.Parsed.Connections:
			return c.Route
		}
	}
	return nil
}

// OwnerBefore is the route object because of which r with its entry has no part in
// the destination; nil where it has, or nobody is in its place.
func (s *Subjects) OwnerBefore(r *index.Route, e *route.Entry) *index.Route {
	return before(s.Contributions, r, e)
}

// attachedTo lists the items that attach to r for the destination s, weakest first.
func (m Mesh) attachedTo(r *index.Route, s *matcher.Service) []*index.Item {
	kind := r.Object.Kind + "/"
	var out []*index.Item
	targets := []string{kind + r.Object.Name, kind + index.Any}
	if n := r.Object.DisplayName(); n != r.Object.Name {
		targets = append(targets, kind+n)
	}
	for p := range index.InAny(m.At, m.PoliciesByRoute, targets...) {
		for _, it := range p.Items {
			if it.Attaches(r, s) {
				out = append(out, it)
			}
		}
	}
	slices.SortFunc(out, index.ByRank)
	return out
}

func (s *Subjects) distinctSelectors() []*matcher.Selector {
	byKey := map[string]*matcher.Selector{}
	add := func(x *matcher.Selector) {
		if x.Key != "" {
			byKey[x.Key] = x
		}
	}
	for _, c := range s.Contributions {
		add(c.Selector())
	}
	for _, a := range s.Attached {
		for _, it := range a.all {
			add(it.Policy.Selector)
		}
	}
	for _, it := range s.Items {
		add(it.Policy.Selector)
	}
	return SortedSelectors(byKey)
}

// SortedSelectors are the selectors in the order of their keys.
func SortedSelectors(byKey map[string]*matcher.Selector) []*matcher.Selector {
	out := make([]*matcher.Selector, 0, len(byKey))
	for _, x := range byKey {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *matcher.Selector) int { return strings.Compare(a.Key, b.Key) })
	return out
}
