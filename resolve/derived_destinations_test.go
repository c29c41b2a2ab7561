package resolve

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
)

func (c *collections) at(r *derive.Reader) *tabler {
	return &tabler{mesh: reading{c, r}, kinds: c.kinds, dialects: c.dialects}
}

func (c *collections) addDestinations() {
	c.dests = derive.Derive(c.schema, "destinations", derive.Union(c.servicesByID, c.dataplanesByClassic, c.routesByHost), derive.Values[dest]{
		Equal: func(a, b *dest) bool { return same(a.Destination, b.Destination) && sameAge(a.object, b.object) },
	}, func(r *derive.Reader, id string) *dest {
		if s, d := c.ownerOf(r, id); s != nil {
			return &dest{Destination: d, object: s.object, facts: factsOf(d)}
		}
		if d := c.hostOf(r, id); d != nil {
			return &dest{Destination: d, facts: factsOf(d)}
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
		if c.hostOf(r, id) != nil {
			return membersOf(nil)
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

// hostOf is the host at a port that has the id, if a route serves it.
func (c *collections) hostOf(at derive.At, id string) *Destination {
	for _, r := range c.routesByHost.In(at, id) {
		for d := range hostsOf(r) {
			if d.ID == id {
				return d
			}
		}
	}
	return nil
}

// hostsOf yields the hosts that a route serves.
func hostsOf(r *routeObject) iter.Seq[*Destination] {
	return func(yield func(*Destination) bool) {
		for i := range r.opinion.Entries {
			to := r.opinion.Entries[i].To
			if to.Kind != api.KindHost || r.object.Shadow() {
				continue
			}
			port, _ := strconv.ParseUint(to.SectionName, 10, 16) // HostRef wrote it
			if !yield(hostDestination(to.Name, uint32(port))) {
				return
			}
		}
	}
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
		maps.EqualFunc(s.attached, o.attached, func(a, b *attachments) bool { return slices.Equal(a.all, b.all) })
}

func (c *collections) addSelectors() {
	c.selectors = derive.Derive(c.schema, "selectors", c.subjects, derive.Values[selectors]{Equal: func(a, b *selectors) bool {
		return slices.EqualFunc(a.selectors, b.selectors, func(x, y *matcher.Selector) bool { return x.Key == y.Key })
	}}, func(r *derive.Reader, id string) *selectors {
		s, _ := c.subjects.Get(r, id)
		return &selectors{subjects{selectors: s.selectors}}
	})
}
