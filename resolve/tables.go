package resolve

import (
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/routing"
)

// said is what policies say about a destination as a whole.
type said struct {
	dest     *effective.Destination
	policies effective.Policies
}

// routed is where requests or connections to a destination go.
type routed struct {
	*said
	table    *effective.Table
	tcp      *effective.TCPTable
	kept     *effective.Kept // beside all of them
	clusters []clusterRef
	// virtual are the outbounds at the virtual addresses of the destination, which all
	// dataplanes of the class share whose traffic is redirected.
	virtual []*effective.Outbound
}

// named are the clusters that a table names.
type named struct{ clusters []clusterRef }

// clusterRef is a cluster that a table names. It names the destination by id,
// because a table outlives the members of other destinations.
type clusterRef struct {
	id   string
	name string // of the cluster
	// variant is that of the cluster, as the end of a key.
	variant string
	// connections says that the table sends whole connections to it.
	connections bool
}

// addTables derives what each class has of a destination. Classes that have the
// same share it.
func (c *tablesStage) addTables() {
	c.said = derive.Derive(c.below.Schema, "said", c.below.AnyClass, derive.Values[said]{
		Equal: func(a, b *said) bool { return a.dest == b.dest && derive.Same(a.policies, b.policies) },
		Hash:  func(s *said) uint64 { return s.policies.Hash(derive.Mix(derive.HashBasis, s.dest.ID)) },
	}, func(r *derive.Reader, key string) *said {
		x := index.Need(c.classes, r, key)
		return &said{x.spoken, x.base.Overridden(x.overrides).Fold(c.below.Kinds)}
	})
	c.routed = derive.Derive(c.below.Schema, "tables", c.below.AnyClass, derive.Values[routed]{Equal: (*routed).equal, Hash: (*routed).hash},
		func(r *derive.Reader, key string) *routed {
			x := index.Need(c.classes, r, key)
			made := c.derived(r).table(x, index.Need(c.said, r, key), index.Need(c.composed, r, x.composed))
			made.reuse(c.routed.Before(r))
			made.atVirtual(c.routed.Before(r))
			return made
		})
	c.named = derive.Derive(c.below.Schema, "clusters named", c.routed, derive.Values[named]{Equal: (*named).equal},
		func(r *derive.Reader, key string) *named { return &named{index.Need(c.routed, r, key).clusters} })
	c.addGroupOutbounds()
}

func (n *named) equal(o *named) bool { return derive.Same(n.clusters, o.clusters) }

// table works out where the requests or connections of a class go.
func (m tablesMesh) table(x *class, s *said, all *routing.Composition) *routed {
	d := x.dest
	b := &tableBuilder{tablesMesh: m, class: x, outbound: s.policies, stacks: map[*index.Item][]stack{},
		own: effective.Backend{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port, Weight: 1, Cluster: d.ID}}
	out := &routed{said: s, kept: effective.NewKept()}
	if all.Connections != nil || len(all.ServerNames) > 0 {
		out.tcp = b.connections(&all.Composition)
	} else {
		out.table = b.build(all)
	}
	out.clusters = b.clusters
	return out
}

func (r *routed) equal(o *routed) bool {
	return r.said == o.said && derive.Same(r.clusters, o.clusters) && (r.table.Is(o.table) || r.tcp.Is(o.tcp))
}

// reuse takes over the table that there was before, if it is equal, or the routes of it
// that are: of the rest something may be new.
func (r *routed) reuse(before *routed) {
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
	if r.kept = before.kept; r.said != before.said {
		r.kept = before.kept.WithOthers()
	}
}

func (r *routed) hash() uint64 {
	out := derive.Mix(derive.HashBasis, r.dest.ID)
	if r.table != nil {
		for _, x := range r.table.Routes {
			out = x.Policies.Hash(derive.Mix(out, x.Key))
		}
	}
	return out
}
