package tables

import (
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/routing"
)

// ClustersNamed are the clusters that the tables of a class or group name; none where
// it failed, or there is none.
func (m Mesh) ClustersNamed(from *derive.Collection[ClusterNames], key string) []ClusterRef {
	if key == "" {
		return nil
	}
	t, _ := from.Get(m.At, key)
	if t == nil {
		return nil
	}
	return t.clusters
}

// HasRules reports whether a dataplane that the selector selects has a rule of the
// route; section, if given, names the rule.
func (m Mesh) HasRules(r *index.Route, section string, by *matcher.Selector) bool {
	for i := range r.Parsed.Entries {
		for d := range m.DestinationsNamed(index.TargetName(r.Parsed.Entries[i].To)) {
			for key := range m.ClassesOf(d) {
				if t, _ := m.Tables.Get(m.At, key); t == nil || t.table == nil || !r.InTable(t.table, section) {
					continue
				}
				for of := range m.PlanesOf(key) {
					if p, _ := m.Dataplanes.Get(m.At, of); by.Selects(&p.Facts) {
						return true
					}
				}
			}
		}
	}
	return false
}

// DestinationPolicies is what policies say about a destination as a whole.
type DestinationPolicies struct {
	dest     *effective.Destination
	policies effective.Policies
}

// ClassTable is where requests or connections to a destination go.
type ClassTable struct {
	*DestinationPolicies
	table    *effective.Table
	tcp      *effective.TCPTable
	cache    *effective.Cache // beside all of them
	clusters []ClusterRef
	// virtual are the outbounds at the virtual addresses of the destination, which all
	// dataplanes of the class share whose traffic is redirected.
	virtual []*effective.Outbound
}

// ClusterNames are the clusters that a table names.
type ClusterNames struct{ clusters []ClusterRef }

// ClusterRef is a cluster that a table names. It names the destination by id,
// because a table outlives the members of other destinations.
type ClusterRef struct {
	Id   string
	Name string // of the cluster
	// Variant is that of the cluster, as the end of a key.
	Variant string
	// Connections says that the table sends whole connections to it.
	Connections bool
}

// addTables derives what each class has of a destination. Classes that have the
// same share it.
func (c *Stage) addTables() {
	c.DestinationPolicies = derive.Derive(c.below.Schema, "said", c.below.AnyClass, derive.Values[DestinationPolicies]{
		Equal: func(a, b *DestinationPolicies) bool { return a.dest == b.dest && derive.Same(a.policies, b.policies) },
		Hash:  func(s *DestinationPolicies) uint64 { return s.policies.Hash(derive.Mix(derive.HashBasis, s.dest.ID)) },
	}, func(r *derive.Reader, key string) *DestinationPolicies {
		x := index.Need(c.Classes, r, key)
		return &DestinationPolicies{x.spoken, x.base.Overridden(x.overrides).Fold(c.below.Kinds)}
	})
	c.Tables = derive.Derive(c.below.Schema, "tables", c.below.AnyClass, derive.Values[ClassTable]{Equal: (*ClassTable).equal, Hash: (*ClassTable).hash},
		func(r *derive.Reader, key string) *ClassTable {
			x := index.Need(c.Classes, r, key)
			made := c.Mesh(r).table(x, index.Need(c.DestinationPolicies, r, key), index.Need(c.composed, r, x.composed))
			made.reuse(c.Tables.Before(r))
			made.atVirtual(c.Tables.Before(r))
			return made
		})
	c.ClusterNames = derive.Derive(c.below.Schema, "clusters named", c.Tables, derive.Values[ClusterNames]{Equal: (*ClusterNames).equal},
		func(r *derive.Reader, key string) *ClusterNames {
			return &ClusterNames{index.Need(c.Tables, r, key).clusters}
		})
	c.addGroupOutbounds()
}

func (n *ClusterNames) equal(o *ClusterNames) bool { return derive.Same(n.clusters, o.clusters) }

// table works out where the requests or connections of a class go.
func (m Mesh) table(x *Class, s *DestinationPolicies, all *routing.Composition) *ClassTable {
	d := x.dest
	b := &tableBuilder{Mesh: m, class: x, outbound: s.policies, stacks: map[*index.Item][]stack{},
		own: effective.Backend{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port, Weight: 1, Cluster: d.ID}}
	out := &ClassTable{DestinationPolicies: s, cache: effective.NewCache()}
	if all.Connections != nil || len(all.ServerNames) > 0 {
		out.tcp = b.connections(&all.Composition)
	} else {
		out.table = b.build(all)
	}
	out.clusters = b.clusters
	return out
}

func (r *ClassTable) equal(o *ClassTable) bool {
	return r.DestinationPolicies == o.DestinationPolicies && derive.Same(r.clusters, o.clusters) && (r.table.Is(o.table) || r.tcp.Is(o.tcp))
}

// reuse takes over the table that there was before, if it is equal, or the routes of it
// that are: of the rest something may be new.
func (r *ClassTable) reuse(before *ClassTable) {
	if before == nil {
		return
	}
	if r.table != nil && before.table != nil {
		r.table.Reuse(before.table)
	}
	switch {
	case before.tcp.Is(r.tcp):
		r.tcp = before.tcp
	case before.table.Is(r.table):
		r.table = before.table
	default:
		return
	}
	if r.cache = before.cache; r.DestinationPolicies != before.DestinationPolicies {
		r.cache = before.cache.WithOthers()
	}
}

func (r *ClassTable) hash() uint64 {
	out := derive.Mix(derive.HashBasis, r.dest.ID)
	if r.table != nil {
		for _, x := range r.table.Routes {
			out = x.Policies.Hash(derive.Mix(out, x.Key))
		}
	}
	return out
}
