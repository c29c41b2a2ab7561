package tables

import (
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/resolve/routing"
	"github.com/weftmesh/weft/resolve/services"
)

// Class is the dataplanes to which the same subjects of one destination apply.
type Class struct {
	dest     *services.Destination
	subjects *routing.Subjects
	has      map[string]bool // selector key -> selects these dataplanes
	base     index.Layers    // what is said by default and targets no route
	// overrides are what is said over it and over every route, weakest first.
	overrides []*index.Override
	composed  string                 // key of the composition for the class
	spoken    *effective.Destination // the destination as the class has it
}

func (c *Stage) addClasses() {
	c.Classes = derive.Derive(c.below.Schema, "classes", c.below.AnyClass, derive.Values[Class]{}, func(r *derive.Reader, key string) *Class {
		id, bits := reachability.CutClass(key)
		return NewClass(index.Need(c.below.Destinations, r, id), index.Need(c.below.Subjects, r, id), bits, len(c.below.Kinds))
	})
	byComposition := c.Classes.Index(func(_ string, x *Class, add func(string)) { add(x.composed) })
	c.composed = derive.Derive(c.below.Schema, "compositions", byComposition, derive.Values[routing.Composition]{}, func(r *derive.Reader, key string) *routing.Composition {
		id, bits := reachability.CutClass(key)
		return c.Mesh(r).Compose(index.Need(c.below.Destinations, r, id), index.Need(c.below.Routing, r, id).Contributions, bits)
	})
}

// NewClass is the class of dataplanes of which bits say who selects them, among the selectors of s.
func NewClass(d *services.Destination, s *routing.Subjects, bits string, kinds int) *Class {
	c := &Class{dest: d, subjects: s, has: map[string]bool{"": true}}
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
	c.composed = reachability.ClassKey(d.Key, string(concerned))
	return c
}

// baseLayers is what the items that attach to no route say to the class.
func (c *Class) baseLayers(kinds int) (index.Layers, []*index.Override) {
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

// OnCluster is what is said about the connections of a class to a variant of its destination.
func (m Mesh) OnCluster(c *Class, v *Variant) effective.Policies {
	return v.over(c.base, m).Overridden(c.overrides).Only(policies.OnCluster, m.Kinds).Fold(m.Kinds)
}
