package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// routing is what route objects say about one destination.
type routing struct {
	contributions []*index.Contribution // weakest first
	// read are the route objects that the contributing ones have looked at, whose
	// rules may be among theirs.
	read map[api.Ref]*index.Route
}

// subjects is everything that is said about one destination, in the order in
// which it overrides each other; the dataplanes differ only in which of it
// concerns them.
type subjects struct {
	*routing
	items    []*index.Item // that attach to no route, weakest first
	attached map[*index.Route]*attachments
	// selectors are the distinct ones that do not select everything, by key.
	selectors []*matcher.Selector
}

// attachments are the items that attach to a route for one destination, weakest
// first: to the whole of it, and to what a sectionName names.
type attachments struct {
	all       []*index.Item
	whole     []*index.Item
	bySection map[string][]*index.Item
}

func newAttachments(all []*index.Item) *attachments {
	a := &attachments{all: all, bySection: map[string][]*index.Item{}}
	for _, it := range all {
		if name := it.RouteRef().SectionName; name != "" {
			a.bySection[name] = append(a.bySection[name], it)
		} else {
			a.whole = append(a.whole, it)
		}
	}
	return a
}

// addSubjects derives what is said about each destination.
func (c *routingStage) addSubjects() {
	c.routing = derive.Derive(c.below.Schema, "routing", c.below.Destinations, derive.Values[routing]{Equal: (*routing).equal},
		func(r *derive.Reader, id string) *routing {
			return c.derived(r).gatherRouting(index.Need(c.below.Destinations, r, id))
		})
	c.subjects = derive.Derive(c.below.Schema, "subjects", c.below.Destinations, derive.Values[subjects]{Equal: (*subjects).equal},
		func(r *derive.Reader, id string) *subjects {
			return c.derived(r).gatherSubjects(index.Need(c.below.Destinations, r, id), index.Need(c.routing, r, id))
		})
	c.selectors = derive.Derive(c.below.Schema, "selectors", c.subjects, derive.Values[selectors]{Equal: (*selectors).equal}, func(r *derive.Reader, id string) *selectors {
		return &selectors{index.Need(c.subjects, r, id).selectors}
	})
}

func (s *selectors) equal(o *selectors) bool {
	return slices.EqualFunc(s.list, o.list, func(x, y *matcher.Selector) bool { return x.Key == y.Key })
}

func (r *routing) equal(o *routing) bool {
	return slices.EqualFunc(r.contributions, o.contributions, func(a, b *index.Contribution) bool { return *a == *b }) && maps.Equal(r.read, o.read)
}

func (s *subjects) equal(o *subjects) bool {
	return s.routing == o.routing && slices.Equal(s.items, o.items) &&
		maps.EqualFunc(s.attached, o.attached, func(a, b *attachments) bool { return slices.Equal(a.all, b.all) })
}

func (m routingMesh) gatherRouting(d *services.Destination) *routing {
	x := &routing{}
	for r := range m.RoutesAbout(d.LinkNames()...) {
		for i := range r.Parsed.Entries {
			e := &r.Parsed.Entries[i]
			if !r.Object.Shadow() && matcher.Destination(e.To, r.Object.Home(), &d.Facts) {
				x.contributions = append(x.contributions, &index.Contribution{Route: r, Entry: e, Rank: r.Rank.Of(e.To, e.Index)})
			}
		}
	}
	x.contributions = owners(x.contributions, d)
	x.contributions = append(x.contributions, m.wider(d, x.contributions)...)
	slices.SortFunc(x.contributions, func(a, b *index.Contribution) int { return a.Rank.Compare(b.Rank) })
	for _, c := range x.contributions {
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

func (m routingMesh) gatherSubjects(d *services.Destination, x *routing) *subjects {
	s := &subjects{routing: x, attached: map[*index.Route]*attachments{}}
	for p := range m.PoliciesAbout(d.LinkNames()...) {
		for _, it := range p.Items {
			if it.RouteRef() == nil && it.Selects(&d.Facts) {
				s.items = append(s.items, it)
			}
		}
	}
	slices.SortFunc(s.items, index.ByRank)
	attach := func(r *index.Route) {
		if _, ok := s.attached[r]; !ok {
			s.attached[r] = newAttachments(m.attachedTo(r, &d.Facts))
		}
	}
	for _, c := range x.contributions {
		attach(c.Route)
	}
	for _, r := range x.read {
		attach(r)
	}
	s.selectors = s.distinctSelectors()
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

// ownerBefore is the route object because of which r with its entry has no part in
// the destination; nil where it has, or nobody is in its place.
func (s *subjects) ownerBefore(r *index.Route, e *route.Entry) *index.Route {
	return before(s.contributions, r, e)
}

// attachedTo lists the items that attach to r for the destination s, weakest first.
func (m routingMesh) attachedTo(r *index.Route, s *matcher.Service) []*index.Item {
	kind := r.Object.Kind + "/"
	var out []*index.Item
	targets := []string{kind + r.Object.Name, kind + index.Any}
	if n := r.Object.DisplayName(); n != r.Object.Name {
		targets = append(targets, kind+n)
	}
	for p := range m.PoliciesOn(targets...) {
		for _, it := range p.Items {
			if it.Attaches(r, s) {
				out = append(out, it)
			}
		}
	}
	slices.SortFunc(out, index.ByRank)
	return out
}

func (s *subjects) distinctSelectors() []*matcher.Selector {
	byKey := map[string]*matcher.Selector{}
	add := func(x *matcher.Selector) {
		if x.Key != "" {
			byKey[x.Key] = x
		}
	}
	for _, c := range s.contributions {
		add(c.Selector())
	}
	for _, a := range s.attached {
		for _, it := range a.all {
			add(it.Policy.Selector)
		}
	}
	for _, it := range s.items {
		add(it.Policy.Selector)
	}
	return sortedSelectors(byKey)
}

func sortedSelectors(byKey map[string]*matcher.Selector) []*matcher.Selector {
	out := make([]*matcher.Selector, 0, len(byKey))
	for _, x := range byKey {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *matcher.Selector) int { return strings.Compare(a.Key, b.Key) })
	return out
}
