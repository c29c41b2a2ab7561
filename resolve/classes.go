package resolve

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/routing"
	"github.com/weftmesh/weft/resolve/services"
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
			h = derive.Mix(h, x.dest.Key)
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

// class is the dataplanes to which the same subjects of one destination apply.
type class struct {
	dest     *services.Destination
	subjects *routing.Subjects
	has      map[string]bool // selector key -> selects these dataplanes
	base     index.Layers    // what is said by default and targets no route
	// overrides are what is said over it and over every route, weakest first.
	overrides []*index.Override
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

func (c *tablesStage) addClasses() {
	c.classes = derive.Derive(c.below.Schema, "classes", c.below.anyClass, derive.Values[class]{}, func(r *derive.Reader, key string) *class {
		id, bits := cutClass(key)
		return newClass(index.Need(c.below.Destinations, r, id), index.Need(c.below.Subjects, r, id), bits, len(c.below.Kinds))
	})
	byComposition := c.classes.Index(func(_ string, x *class, add func(string)) { add(x.composed) })
	c.composed = derive.Derive(c.below.Schema, "compositions", byComposition, derive.Values[routing.Composition]{}, func(r *derive.Reader, key string) *routing.Composition {
		id, bits := cutClass(key)
		return c.derived(r).Compose(index.Need(c.below.Destinations, r, id), index.Need(c.below.Routing, r, id).Contributions, bits)
	})
}

// classOf is the key of the class of a dataplane at a destination.
func (m reachabilityMesh) classOf(id string, p *index.Dataplane) string {
	return m.classWith(id, p.SelectedBy)
}

// classWith is the key of the class of those whom the selectors select of which has says so.
func (m reachabilityMesh) classWith(id string, has func(*matcher.Selector) bool) string {
	s, failed := m.Selectors.Get(m.At, id)
	if failed != nil {
		return classKey(id, "") // which fails alike
	}
	return classKey(id, s.Bits(has))
}

func newClass(d *services.Destination, s *routing.Subjects, bits string, kinds int) *class {
	c := &class{dest: d, subjects: s, has: map[string]bool{"": true}}
	for i, x := range s.Selectors {
		c.has[x.Key] = bits[i] == '1'
	}
	c.base, c.overrides = c.baseLayers(kinds)
	concerned := make([]byte, len(s.Contributions))
	var mine []*index.Contribution
	for i, x := range s.Contributions {
		concerned[i] = routing.Bit(c.has[x.Selector().Key])
		if concerned[i] == '1' {
			mine = append(mine, x)
		}
	}
	c.spoken = routing.SpokenFor(d, mine)
	c.composed = classKey(d.Key, string(concerned))
	return c
}

// baseLayers is what the items that attach to no route say to the class.
func (c *class) baseLayers(kinds int) (index.Layers, []*index.Override) {
	base := make(index.Layers, kinds)
	var mine []*index.Item
	for _, it := range c.subjects.Items {
		if c.has[it.Policy.Selector.Key] {
			base[it.Policy.Kind] = append(base[it.Policy.Kind], it.ByDefault())
			mine = append(mine, it)
		}
	}
	return base, index.OwnOverrides(mine)
}

// onCluster is what is said about the connections to a variant of the destination.
func (c *class) onCluster(m tablesMesh, v *variant) effective.Policies {
	return v.over(c.base, m).Overridden(c.overrides).Only(policies.OnCluster, m.Kinds).Fold(m.Kinds)
}
