package resolve

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/resolve/tables"
)

// used is the clusters that the tables of a dataplane name. Dataplanes that use the same
// share one.
type used struct{ clusters []use }

func (u *used) hash() uint64 {
	out := uint64(derive.HashBasis)
	for _, x := range u.clusters {
		out = derive.Mix(out, x.cluster)
	}
	return out
}

// use is a cluster as a dataplane uses it: the keys of its two collections.
type use struct {
	cluster, endpoints string
	connectionsOnly    bool
}

// held is the clusters that a dataplane holds, sorted by name.
type held struct {
	list []effective.ClusterUse
	of   uint64 // hash of what is used
}

// addHoldings derives what applies to each dataplane.
func (c *dataplanesStage) addHoldings() {
	c.used = derive.Derive(c.below.Schema, "uses", c.below.ClassesCalled, derive.Values[used]{
		Equal: func(a, b *used) bool { return slices.Equal(a.clusters, b.clusters) },
		Hash:  (*used).hash,
	}, func(r *derive.Reader, key string) *used {
		return c.derived(r).uses(index.Need(c.below.Dataplanes, r, key), index.Need(c.below.ClassesCalled, r, key).Classes, index.Need(c.below.HostGroups, r, key).Keys)
	})
	c.byCluster = c.used.Group(func(_ string, u *used, add func(string)) {
		for _, x := range u.clusters {
			add(x.cluster)
		}
	})
	c.byConnections = c.used.Group(func(_ string, u *used, add func(string)) {
		for _, x := range u.clusters {
			if x.connectionsOnly {
				add(x.cluster)
			}
		}
	})
	c.clusters = derive.Derive(c.below.Schema, "clusters", c.byCluster, derive.Values[clusterKept]{
		Equal: func(a, b *clusterKept) bool { return a.variant == b.variant && a.Equal(&b.Cluster) },
		Hash:  func(x *clusterKept) uint64 { return x.Policies.Hash(derive.Mix(derive.HashBasis, x.Name)) },
	}, func(r *derive.Reader, key string) *clusterKept { return c.derived(r).cluster(key) })
	c.addTrusts()
	byEndpoints := c.clusters.Index(func(_ string, x *clusterKept, add func(string)) { add(x.Destination.ID + x.variant) })
	c.endpoints = derive.Derive(c.below.Schema, "endpoints", byEndpoints, derive.Values[endpointsKept]{
		Equal: func(a, b *endpointsKept) bool {
			return a.Name == b.Name && derive.Same(a.List, b.List) && slices.Equal(a.Left, b.Left)
		},
	}, func(r *derive.Reader, key string) *endpointsKept {
		id, v := tables.CutVariant(key)
		behind := index.Need(c.below.Members, r, id)
		return &endpointsKept{Endpoints: effective.Endpoints{Name: v.ClusterName(index.Need(c.below.Destinations, r, id).Destination), List: behind.Subset(v.Tags), Left: behind.Left}}
	})
	c.held = derive.Derive(c.below.Schema, "held", c.used, derive.Values[held]{
		Equal: func(a, b *held) bool { return slices.Equal(a.list, b.list) },
		Hash:  func(h *held) uint64 { return h.of },
	}, func(r *derive.Reader, key string) *held { return c.derived(r).holds(index.Need(c.used, r, key)) })
	c.inbounds = derive.Derive(c.below.Schema, "inbounds", c.below.Dataplanes, derive.Values[inbounds]{
		Equal: func(a, b *inbounds) bool { return slices.Equal(a.list, b.list) && slices.Equal(a.edges, b.edges) },
	}, func(r *derive.Reader, key string) *inbounds {
		p := index.Need(c.below.Dataplanes, r, key)
		made := &inbounds{c.derived(r).inboundsOf(p), c.derived(r).edgesOf(p)}
		made.reuse(c.inbounds.Before(r))
		return made
	})
	c.inboundsIn = c.inbounds.Index(func(_ string, x *inbounds, add func(string)) {
		for _, bucket := range []string{effective.OpenInbounds, effective.PlainInbounds, effective.BytesInbounds} {
			if slices.ContainsFunc(x.list, func(in effective.InboundUse) bool { return in.Is(bucket) }) {
				add(bucket)
			}
		}
	})
	c.listened = derive.Derive(c.below.Schema, "outbounds", c.below.Dataplanes, derive.Values[listened]{
		Equal: (*listened).equal, Hash: func(l *listened) uint64 { return l.of },
	}, func(r *derive.Reader, key string) *listened {
		return c.derived(r).listenedBy(key, c.listened.Before(r))
	})
	c.resolved = derive.Derive(c.below.Schema, "resolved", c.below.Dataplanes, derive.Values[effective.Resolved]{},
		func(r *derive.Reader, key string) *effective.Resolved {
			return c.derived(r).resolve(index.Need(c.below.Dataplanes, r, key), key, c.resolved.Before(r))
		})
}

// uses finds the tables of what a dataplane calls, and the clusters behind them.
func (m dataplanesMesh) uses(p *index.Dataplane, classes, groups []string) *used {
	u := &used{make([]use, 0, len(classes))}
	seen := make(map[string]int, 3*len(classes))  // where in u.clusters
	at := make(map[string]string, 2*len(classes)) // the class by destination id
	for _, key := range classes {
		if id, _ := reachability.CutClass(key); id != "" {
			at[id] = key
		}
	}
	add := func(ref tables.ClusterRef) {
		if i, ok := seen[ref.Name]; ok {
			u.clusters[i].connectionsOnly = u.clusters[i].connectionsOnly && ref.Connections
			return
		}
		seen[ref.Name] = len(u.clusters)
		class, ok := at[ref.Id]
		if !ok {
			class = m.ClassOf(ref.Id, p)
			at[ref.Id] = class
		}
		u.clusters = append(u.clusters, use{class + ref.Variant, ref.Id + ref.Variant, ref.Connections})
	}
	for _, key := range classes {
		for _, ref := range m.ClustersNamed(m.ClusterNames, key) {
			add(ref)
		}
	}
	for _, key := range groups {
		for _, ref := range m.ClustersNamed(m.GroupClusterNames, key) {
			add(ref)
		}
	}
	return u
}

// cluster is how a class speaks to a destination, or to a variant of it.
func (m dataplanesMesh) cluster(key string) *clusterKept {
	key, v := tables.CutVariant(key)
	id, bits := reachability.CutClass(key)
	d, x := index.Need(m.Destinations, m.At, id), index.Need(m.Classes, m.At, key)
	if x == nil { // they do not call it, only send to it
		x = tables.NewClass(d, index.Need(m.Subjects, m.At, id), bits, len(m.Kinds))
	}
	behind := index.Need(m.Members, m.At, id)
	return &clusterKept{variant: v.Key(), Cluster: effective.Cluster{TLS: m.ClusterTLS(d.Destination, behind.Peers), Name: v.ClusterName(d.Destination), Destination: d.Destination, Tags: v.Tags, Balance: v.Balance,
		HTTP2: v.HTTP2 || behind.Http2 && d.Protocol.HTTPLike(), Policies: m.OnCluster(x, v)}}
}

func (m dataplanesMesh) holds(u *used) *held {
	out := &held{make([]effective.ClusterUse, 0, len(u.clusters)), u.hash()}
	for _, n := range u.clusters {
		c, e := index.Need(m.clusters, m.At, n.cluster), index.Need(m.endpoints, m.At, n.endpoints)
		if c != nil && e != nil {
			out.list = append(out.list, effective.ClusterUse{Cluster: &c.Cluster, Endpoints: &e.Endpoints, ConnectionsOnly: n.connectionsOnly, ClusterKept: &c.kept, EndpointsKept: &e.kept})
		}
	}
	slices.SortFunc(out.list, func(a, b effective.ClusterUse) int { return cmp.Compare(a.Cluster.Name, b.Cluster.Name) })
	return out
}

// clusterKept, endpointsKept, inboundKept and the others are values and what stands beside them,
// each made in one piece.
type (
	clusterKept struct {
		effective.Cluster
		variant string // as the end of a key
		kept    effective.Memo
	}
	endpointsKept struct {
		effective.Endpoints
		kept effective.Memo
	}
	inboundKept struct {
		effective.Inbound
		kept effective.Memo
	}
	edgeKept struct {
		effective.Edge
		kept effective.Memo
	}
	trustKept struct {
		effective.Trust
		kept effective.Memo
	}
)
