package resolve

import (
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
)

// class is the dataplanes to which the same subjects of one destination apply,
// and what those come to.
type class struct {
	has  map[string]bool // selector key -> selects these dataplanes
	base layers          // what is said by default and targets no route
	// overrides are what is said over it and over every route, weakest first.
	overrides []*override
	outbound  Policies // of the destination, for what no route says
	table     *Table
	tcp       *TCPTable
	clusters  []clusterRef
	byTags    memo[Cluster]
}

// clusterRef is a cluster that a table names. It names the destination by id,
// because a class outlives the members of other destinations.
type clusterRef struct {
	id   string
	name string // of the cluster
	tags map[string]string
	// connections says that the table sends whole connections to it.
	connections bool
}

// class is what applies to the class of a dataplane.
func (t *tabler) class(d *dest, p *dataplane) *class {
	if c := d.subjects.classOf(p); c != nil {
		return c
	}
	c, _ := d.subjects.classes.LoadOrStore(d.subjects.classKey(&p.facts), t.newClass(d, p))
	return c.(*class)
}

// former is what applied to the class of the dataplane in the revision before;
// nil where nothing did. It asks for the class, not for the dataplane, so that a
// value stays for those who have it when others come to share it.
func (t *tabler) former(d *dest, p *dataplane) *class {
	if was := t.prior.dest(d.ID); was != nil {
		return was.subjects.classOf(p)
	}
	return nil
}

// classOf is the class of the dataplane; nil where nobody has asked for it.
func (s *subjects) classOf(p *dataplane) *class {
	if c, ok := s.classes.Load(s.classKey(&p.facts)); ok {
		return c.(*class)
	}
	return nil
}

func (t *tabler) newClass(d *dest, p *dataplane) *class {
	c := d.subjects.class(d.subjects.classKey(&p.facts), len(t.kinds))
	c.outbound = c.base.overridden(c.overrides).fold(t.kinds)
	before := t.former(d, p)
	if before != nil && same(c.outbound, before.outbound) {
		c.outbound = before.outbound
	}
	t.addTable(d, c)
	switch {
	case before == nil:
	case c.tcp.is(before.tcp):
		c.tcp = before.tcp
	case c.table.is(before.table):
		c.table = before.table
	}
	return c
}

// class is what is said to the class with that key, and targets no route.
func (s *subjects) class(key string, kinds int) *class {
	c := &class{has: map[string]bool{"": true}}
	for i, x := range s.selectors {
		c.has[x.Key] = key[i] == '1'
	}
	c.base, c.overrides = s.baseLayers(c, kinds)
	return c
}

// addTable works out where the requests or connections of a class go.
func (t *tabler) addTable(d *dest, c *class) {
	b := &tableBuilder{tabler: t, dest: d, class: c, stacks: map[*item][]stack{},
		own: Backend{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port, Weight: 1, Cluster: d.ID}}
	if all := t.compose(d, c); all.Connections != nil {
		c.tcp = b.connections(all.Connections)
	} else {
		c.table = b.build(all)
	}
	c.clusters = b.clusters
}

// onCluster is what is said about the connections to the destination.
func (c *class) onCluster(kinds []*policies.Kind) Policies {
	return c.base.overridden(c.overrides).only(policies.OnCluster, kinds).fold(kinds)
}

// is reports whether both are equal tables of one destination.
func (t *Table) is(o *Table) bool {
	return t != nil && o != nil && t.Destination == o.Destination && same(t.Routes, o.Routes)
}

// is reports whether both are equal tables of one destination.
func (t *TCPTable) is(o *TCPTable) bool {
	return t != nil && o != nil && t.Destination == o.Destination && same(t.Backends, o.Backends) &&
		same(t.Origins, o.Origins) && same(t.BackendsBy, o.BackendsBy)
}

// cluster is how the class speaks to the destination, or to a subset of it.
func (t *tabler) cluster(d *dest, ref clusterRef, p *dataplane) *Cluster {
	c := t.class(d, p)
	return c.byTags.get(ref.name, func() *Cluster {
		n := &Cluster{
			Name: ref.name, Destination: d.Destination, Tags: ref.tags, HTTP2: d.members.http2 && d.Protocol.HTTPLike(),
			Policies: c.onCluster(t.kinds),
		}
		if before := t.former(d, p); before != nil {
			if o := before.byTags.known(ref.name); o != nil && o.Destination == n.Destination && o.HTTP2 == n.HTTP2 && same(o.Policies, n.Policies) {
				return o
			}
		}
		return n
	})
}

// endpoints are those behind a cluster.
func (t *tabler) endpoints(d *dest, ref clusterRef) *Endpoints {
	return d.members.subsets.get(ref.name, func() *Endpoints {
		n := d.endpoints(ref.name, ref.tags)
		if was := t.prior.dest(d.ID); was != nil {
			if o := was.members.subsets.known(ref.name); o != nil && same(o.List, n.List) {
				return o
			}
		}
		return n
	})
}

// classKey tells the classes of s apart: it has one digit for each selector.
func (s *subjects) classKey(d *matcher.Dataplane) string {
	bits := make([]byte, len(s.selectors))
	for i, x := range s.selectors {
		bits[i] = '0'
		if x.Selects(d) {
			bits[i] = '1'
		}
	}
	return string(bits)
}

// baseLayers is what the items that attach to no route say to the class.
func (s *subjects) baseLayers(c *class, kinds int) (layers, []*override) {
	base := make(layers, kinds)
	var mine []*item
	for _, it := range s.items {
		if c.has[it.policy.selector.Key] {
			base[it.policy.kind] = append(base[it.policy.kind], it.byDefault())
			mine = append(mine, it)
		}
	}
	return base, ownOverrides(mine)
}
