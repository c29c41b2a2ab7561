package resolve

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
)

func (c *collections) at(r *derive.Reader) *tabler {
	return &tabler{mesh: reading{c, r}, kinds: c.kinds, dialects: c.dialects}
}

func (c *collections) addDestinations() {
	c.dests = derive.Derive(c.schema, "destinations", derive.Union(c.servicesByID, c.dataplanesByClassic), derive.Values[dest]{
		Equal: func(a, b *dest) bool { return same(a.Destination, b.Destination) && sameAge(a.object, b.object) },
	}, func(r *derive.Reader, id string) *dest {
		if s, d := c.ownerOf(r, id); s != nil {
			return &dest{Destination: d, object: s.object, facts: factsOf(d)}
		}
		name := classicName(id)
		d := classicDestination(name, classicMembers(reading{c, r}, name))
		return &dest{Destination: d, facts: factsOf(d)}
	})
	c.destsByName = c.dests.Index(func(_ string, d *dest, add func(string)) {
		for _, n := range d.linkNames() {
			add(n)
		}
	})
	c.members = derive.Derive(c.schema, "members", c.dests, derive.Values[members]{
		Equal: func(a, b *members) bool { return a.http2 == b.http2 && same(a.list, b.list) },
	}, func(r *derive.Reader, id string) *members {
		if s, d := c.ownerOf(r, id); s != nil {
			return serviceMembers(reading{c, r}, s, d)
		}
		return membersOf(classicMembers(reading{c, r}, classicName(id)))
	})
	c.subjects = derive.Derive(c.schema, "subjects", c.dests, derive.Values[subjects]{Equal: (*subjects).equal},
		func(r *derive.Reader, id string) *subjects {
			d, _ := c.dests.Get(r, id)
			return gatherSubjects(reading{c, r}, d)
		})
}

// ownerOf finds the object whose destination has the id: the first of those that
// claim it.
func (c *collections) ownerOf(at derive.At, id string) (*service, *Destination) {
	for _, s := range c.servicesByID.In(at, id) {
		i := slices.IndexFunc(s.dests, func(d *Destination) bool { return d.ID == id })
		return s, s.dests[i]
	}
	return nil, nil
}

// classicName is the kuma.io/service that has the id.
func classicName(id string) string {
	if name, ok := strings.CutPrefix(id, "classic_"); ok && strings.Contains(name, ":") {
		return name
	}
	return id
}

func (s *subjects) equal(o *subjects) bool {
	return slices.EqualFunc(s.contributions, o.contributions, func(a, b *contribution) bool { return *a == *b }) &&
		slices.Equal(s.items, o.items) &&
		!slices.ContainsFunc(s.contributions, func(c *contribution) bool {
			return !slices.Equal(s.attached[c.route].all, o.attached[c.route].all)
		})
}

func (c *collections) addSelectors() {
	c.selectors = derive.Derive(c.schema, "selectors", c.subjects, derive.Values[selectors]{Equal: func(a, b *selectors) bool {
		return slices.EqualFunc(a.selectors, b.selectors, func(x, y *matcher.Selector) bool { return x.Key == y.Key })
	}}, func(r *derive.Reader, id string) *selectors {
		s, _ := c.subjects.Get(r, id)
		return &selectors{subjects{selectors: s.selectors}}
	})
}
