package resolve

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// routing is what route objects say about one destination.
type routing struct {
	contributions []*contribution // weakest first
	// read are the route objects that the contributing ones have looked at, whose
	// rules may be among theirs.
	read map[api.Ref]*routeObject
}

// subjects is everything that is said about one destination, in the order in
// which it overrides each other; the dataplanes differ only in which of it
// concerns them.
type subjects struct {
	*routing
	items    []*item // that attach to no route, weakest first
	attached map[*routeObject]*attachments
	// selectors are the distinct ones that do not select everything, by key.
	selectors []*matcher.Selector
}

// attachments are the items that attach to a route for one destination, weakest
// first: to the whole of it, and to what a sectionName names.
type attachments struct {
	all       []*item
	whole     []*item
	bySection map[string][]*item
}

func newAttachments(all []*item) *attachments {
	a := &attachments{all: all, bySection: map[string][]*item{}}
	for _, it := range all {
		if name := it.routeRef().SectionName; name != "" {
			a.bySection[name] = append(a.bySection[name], it)
		} else {
			a.whole = append(a.whole, it)
		}
	}
	return a
}

// layers is what each kind of policy says, weakest first; the index is the
// kind's number.
type layers [][]merge.Layer

// addSubjects derives what is said about each destination.
func (c *routingStage) addSubjects() {
	c.routing = derive.Derive(c.below.schema, "routing", c.below.dests, derive.Values[routing]{Equal: (*routing).equal},
		func(r *derive.Reader, id string) *routing {
			return c.derived(r).gatherRouting(need(c.below.dests, r, id))
		})
	c.subjects = derive.Derive(c.below.schema, "subjects", c.below.dests, derive.Values[subjects]{Equal: (*subjects).equal},
		func(r *derive.Reader, id string) *subjects {
			return c.derived(r).gatherSubjects(need(c.below.dests, r, id), need(c.routing, r, id))
		})
	c.selectors = derive.Derive(c.below.schema, "selectors", c.subjects, derive.Values[selectors]{Equal: (*selectors).equal}, func(r *derive.Reader, id string) *selectors { return &selectors{need(c.subjects, r, id).selectors} })
}

func (s *selectors) equal(o *selectors) bool {
	return slices.EqualFunc(s.list, o.list, func(x, y *matcher.Selector) bool { return x.Key == y.Key })
}

func (r *routing) equal(o *routing) bool {
	return slices.EqualFunc(r.contributions, o.contributions, func(a, b *contribution) bool { return *a == *b }) && maps.Equal(r.read, o.read)
}

func (s *subjects) equal(o *subjects) bool {
	return s.routing == o.routing && slices.Equal(s.items, o.items) &&
		maps.EqualFunc(s.attached, o.attached, func(a, b *attachments) bool { return slices.Equal(a.all, b.all) })
}

func (m routingMesh) gatherRouting(d *dest) *routing {
	x := &routing{}
	for r := range m.routesAbout(d.linkNames()...) {
		for i := range r.opinion.Entries {
			e := &r.opinion.Entries[i]
			if !r.object.Shadow() && matcher.Destination(e.To, r.object.Home(), &d.facts) {
				x.contributions = append(x.contributions, &contribution{route: r, entry: e, rank: r.rank.of(e.To, e.Index)})
			}
		}
	}
	x.contributions = owners(x.contributions, d)
	x.contributions = append(x.contributions, m.wider(d, x.contributions)...)
	slices.SortFunc(x.contributions, func(a, b *contribution) int { return a.rank.compare(b.rank) })
	for _, c := range x.contributions {
		if len(c.route.reads) == 0 {
			continue
		}
		for r := range m.readBy(c.route) {
			if x.read == nil {
				x.read = map[api.Ref]*routeObject{}
			}
			x.read[r.object.Ref] = r
		}
	}
	return x
}

func (m routingMesh) gatherSubjects(d *dest, x *routing) *subjects {
	s := &subjects{routing: x, attached: map[*routeObject]*attachments{}}
	for p := range m.policiesAbout(d.linkNames()...) {
		for _, it := range p.items {
			if it.routeRef() == nil && it.selects(&d.facts) {
				s.items = append(s.items, it)
			}
		}
	}
	slices.SortFunc(s.items, byRank)
	attach := func(r *routeObject) {
		if _, ok := s.attached[r]; !ok {
			s.attached[r] = newAttachments(m.attachedTo(r, &d.facts))
		}
	}
	for _, c := range x.contributions {
		attach(c.route)
	}
	for _, r := range x.read {
		attach(r)
	}
	s.selectors = s.distinctSelectors()
	return s
}

func byRank(a, b *item) int {
	c, _ := a.rank.decide(&b.rank)
	return c
}

// owners keeps the contributions of the one kind that owns a destination
// (spec/kuma.md 2.3): the first that says something. Those for connections come after
// all others, and alone count where there are no requests. What is said to callers of
// one namespace has an owner of its own, but one of an earlier language than what is
// said to all stands in nobody's way; so has what is said for some edge dataplanes.
func owners(all []*contribution, d *dest) []*contribution {
	all = slices.DeleteFunc(all, func(c *contribution) bool {
		return len(c.entry.Rules) == 0 || !d.reads(c.route.opinion.Speaks) && !c.route.opinion.Connections
	})
	return slices.DeleteFunc(slices.Clone(all), func(c *contribution) bool { return before(all, c.route, c.entry) != nil })
}

// before is a route object that keeps an entry of r from the destination that all
// say something about; nil where none does.
func before(all []*contribution, r *routeObject, e *route.Entry) *routeObject {
	for _, c := range slices.Backward(all) {
		switch {
		case c.entry.Callers == e.Callers && c.entry.Edges == e.Edges && c.route.ownership(r) < 0,
			c.entry.Callers == "" && c.route.dialect < r.dialect && !c.route.opinion.Connections:
			return c.route
		}
	}
	return nil
}

// ownerBefore is the route object because of which r with its entry has no part in
// the destination; nil where it has, or nobody is in its place.
func (s *subjects) ownerBefore(r *routeObject, e *route.Entry) *routeObject {
	return before(s.contributions, r, e)
}

// ownership is negative where r is of a kind that owns a destination before that
// of o.
func (r *routeObject) ownership(o *routeObject) int {
	x, y := r.opinion.Connections, o.opinion.Connections
	switch {
	case x && !y:
		return 1
	case y && !x:
		return -1
	}
	return cmp.Compare(r.kind, o.kind)
}

// attachedTo lists the items that attach to r for the destination s, weakest first.
func (m routingMesh) attachedTo(r *routeObject, s *matcher.Service) []*item {
	kind := r.object.Kind + "/"
	var out []*item
	targets := []string{kind + r.object.Name, kind + anyTarget}
	if n := r.object.DisplayName(); n != r.object.Name {
		targets = append(targets, kind+n)
	}
	for p := range m.policiesOn(targets...) {
		for _, it := range p.items {
			if it.attaches(r, s) {
				out = append(out, it)
			}
		}
	}
	slices.SortFunc(out, byRank)
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
		add(c.selector())
	}
	for _, a := range s.attached {
		for _, it := range a.all {
			add(it.policy.selector)
		}
	}
	for _, it := range s.items {
		add(it.policy.selector)
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

// fold resolves each kind.
func (l layers) fold(kinds []*policies.Kind) effective.Policies {
	var out effective.Policies
	for i, k := range kinds {
		if e := k.Resolve(l[i]); e != nil {
			out = append(out, e)
		}
	}
	return out
}

// only keeps the leaves of one scope.
func (l layers) only(scope policies.Scope, kinds []*policies.Kind) layers {
	out := make(layers, len(l))
	for i, list := range l {
		for _, x := range list {
			kept := merge.Layer{Name: x.Name, Override: x.Override, Origin: x.Origin, Place: x.Place}
			for _, leaf := range x.Leaves {
				if kinds[i].Schema.Leaves[leaf.Field].Scope == scope {
					kept.Leaves = append(kept.Leaves, leaf)
				}
			}
			if len(kept.Leaves) > 0 {
				out[i] = append(out[i], kept)
			}
		}
	}
	return out
}
