package resolve

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
)

// calls is what a dataplane calls.
type calls struct {
	list []call
	hash uint64
	// redirected says that the traffic of who calls is redirected: others listen otherwise.
	redirected bool
}

// equal reports equal lists, which as a rule are one.
func (c *calls) equal(o *calls) bool {
	return c.redirected == o.redirected && len(c.list) == len(o.list) && (len(c.list) == 0 || &c.list[0] == &o.list[0] || slices.EqualFunc(c.list, o.list, call.equal))
}

// newCalls knows the hash of list, which others ask for as often as a table changes. The hash leaves out
// what is said of what leads nowhere.
func newCalls(list []call, redirected bool) *calls {
	h := uint64(derive.HashBasis)
	for i := range list {
		x := &list[i]
		if h = derive.Mix(h, x.address) ^ uint64(x.port)<<32 ^ uint64(x.index); x.dest != nil {
			h = derive.Mix(h, x.dest.key)
		}
	}
	return &calls{list, h, redirected}
}

// called is the class that a dataplane belongs to for each destination that it
// calls, in the order of its calls; empty for what leads nowhere.
type called struct {
	classes []string
	hash    uint64
}

// selectors tell the classes of a destination apart.
type selectors struct{ list []*matcher.Selector }

// class is the dataplanes to which the same subjects of one destination apply.
type class struct {
	dest     *dest
	subjects *subjects
	has      map[string]bool // selector key -> selects these dataplanes
	base     layers          // what is said by default and targets no route
	// overrides are what is said over it and over every route, weakest first.
	overrides []*override
	composed  string                 // key of the composition for the class
	spoken    *effective.Destination // the destination as the class has it
}

// classKey names a class of dataplanes at a destination: with bits, a digit for
// each of its selectors.
func classKey(id, bits string) string { return id + "\x00" + bits }

// cutClass is the destination of a class, and its bits.
func cutClass(key string) (id, bits string) {
	id, bits, _ = strings.Cut(key, "\x00")
	return id, bits
}

func (c *collections) addClasses() {
	c.byReach = c.dataplanes.Group(func(_ string, p *dataplane, add func(string)) {
		if p.spec.Networking.TransparentProxying != nil {
			add(p.reach().String())
		}
	})
	c.reached = derive.Derive(c.schema, "destinations reached", c.byReach, derive.Values[calls]{Equal: (*calls).equal},
		func(r *derive.Reader, key string) *calls {
			return newCalls(c.derived(r).callsWithin(groupOf(key)), true)
		})
	c.calls = derive.Derive(c.schema, "calls", c.dataplanes, derive.Values[calls]{Equal: (*calls).equal, Hash: func(x *calls) uint64 { return x.hash }}, func(r *derive.Reader, key string) *calls {
		p := need(c.dataplanes, r, key)
		return newCalls(c.derived(r).callsOf(p), p.spec.Networking.TransparentProxying != nil)
	})
	c.called = derive.Derive(c.schema, "classes held", c.calls, derive.Values[called]{
		Equal: func(a, b *called) bool { return slices.Equal(a.classes, b.classes) },
		Hash:  func(x *called) uint64 { return x.hash },
	}, func(r *derive.Reader, key string) *called {
		p, list := need(c.dataplanes, r, key), need(c.calls, r, key).list
		out := &called{classes: make([]string, len(list))}
		for i := range list {
			if d := list[i].dest; d != nil {
				out.classes[i] = c.derived(r).classOf(d.key, p)
			}
		}
		out.hash = derive.Mix(derive.HashBasis, out.classes...)
		return out
	})
	c.byClass = c.called.Group(func(_ string, x *called, add func(string)) {
		for _, key := range x.classes {
			if key != "" {
				add(key)
			}
		}
	})
	c.addHostGroups()
	c.anyClass = derive.Union(c.byClass, c.groupsByClass)
	c.classes = derive.Derive(c.schema, "classes", c.anyClass, derive.Values[class]{}, func(r *derive.Reader, key string) *class {
		id, bits := cutClass(key)
		return newClass(need(c.dests, r, id), need(c.subjects, r, id), bits, len(c.kinds))
	})
	byComposition := c.classes.Index(func(_ string, x *class, add func(string)) { add(x.composed) })
	c.composed = derive.Derive(c.schema, "compositions", byComposition, derive.Values[composition]{}, func(r *derive.Reader, key string) *composition {
		id, bits := cutClass(key)
		return c.derived(r).compose(need(c.dests, r, id), need(c.routing, r, id).contributions, bits)
	})
}

// classOf is the key of the class of a dataplane at a destination.
func (m mesh) classOf(id string, p *dataplane) string {
	return m.classWith(id, p.selectedBy)
}

// classWith is the key of the class of those whom the selectors select of which has says so.
func (m mesh) classWith(id string, has func(*matcher.Selector) bool) string {
	s, failed := m.selectors.Get(m.at, id)
	if failed != nil {
		return classKey(id, "") // which fails alike
	}
	return classKey(id, s.bits(has))
}

// bits has a digit for each selector.
func (s *selectors) bits(has func(*matcher.Selector) bool) string {
	out := make([]byte, len(s.list))
	for i, x := range s.list {
		out[i] = digit(has(x))
	}
	return string(out)
}

func digit(yes bool) byte {
	if yes {
		return '1'
	}
	return '0'
}

func newClass(d *dest, s *subjects, bits string, kinds int) *class {
	c := &class{dest: d, subjects: s, has: map[string]bool{"": true}}
	for i, x := range s.selectors {
		c.has[x.Key] = bits[i] == '1'
	}
	c.base, c.overrides = c.baseLayers(kinds)
	concerned := make([]byte, len(s.contributions))
	var mine []*contribution
	for i, x := range s.contributions {
		concerned[i] = digit(c.has[x.selector().Key])
		if concerned[i] == '1' {
			mine = append(mine, x)
		}
	}
	c.spoken = spokenFor(d, mine)
	c.composed = classKey(d.key, string(concerned))
	return c
}

// baseLayers is what the items that attach to no route say to the class.
func (c *class) baseLayers(kinds int) (layers, []*override) {
	base := make(layers, kinds)
	var mine []*item
	for _, it := range c.subjects.items {
		if c.has[it.policy.selector.Key] {
			base[it.policy.kind] = append(base[it.policy.kind], it.byDefault())
			mine = append(mine, it)
		}
	}
	return base, ownOverrides(mine)
}

// onCluster is what is said about the connections to a variant of the destination.
func (c *class) onCluster(m mesh, v *variant) effective.Policies {
	return v.over(c.base, m).overridden(c.overrides).only(policies.OnCluster, m.kinds).fold(m.kinds)
}
