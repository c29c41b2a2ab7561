package dataplanes

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/resolve/tables"
)

// ClusterRefs is the clusters that the tables of a dataplane name. Dataplanes that use the same
// share one.
type ClusterRefs struct{ clusters []clusterRef }

func (u *ClusterRefs) hash() uint64 {
	out := uint64(derive.HashBasis)
	for _, x := range u.clusters {
		out = derive.Mix(out, x.cluster)
	}
	return out
}

// clusterRef is a cluster as a dataplane uses it: the keys of its two collections.
type clusterRef struct {
	cluster, endpoints string
	connectionsOnly    bool
}

// clusters is the clusters that a dataplane holds, sorted by name.
type clusters struct {
	list []effective.ClusterUse
	of   uint64 // hash of what is used
}

// addHoldings derives what applies to each dataplane.
func (c *Stage) addHoldings() {
	c.ClusterRefs = derive.Derive(c.below.Schema, "uses", c.below.ClassesCalled, derive.Values[ClusterRefs]{
		Equal: func(a, b *ClusterRefs) bool { return slices.Equal(a.clusters, b.clusters) },
		Hash:  (*ClusterRefs).hash,
	}, func(r *derive.Reader, key string) *ClusterRefs {
		return c.Mesh(r).uses(index.Need(c.below.Dataplanes, r, key), index.Need(c.below.ClassesCalled, r, key).Classes, index.Need(c.below.HostGroups, r, key).Keys)
	})
	c.ByCluster = c.ClusterRefs.Group(func(_ string, u *ClusterRefs, add func(string)) {
		for _, x := range u.clusters {
			add(x.cluster)
		}
	})
	c.ByConnections = c.ClusterRefs.Group(func(_ string, u *ClusterRefs, add func(string)) {
		for _, x := range u.clusters {
			if x.connectionsOnly {
				add(x.cluster)
			}
		}
	})
	c.clusters = derive.Derive(c.below.Schema, "clusters", c.ByCluster, derive.Values[Cluster]{
		Equal: func(a, b *Cluster) bool { return a.variant == b.variant && a.Equal(&b.Cluster) },
		Hash:  func(x *Cluster) uint64 { return x.Policies.Hash(derive.Mix(derive.HashBasis, x.Name)) },
	}, func(r *derive.Reader, key string) *Cluster { return c.Mesh(r).cluster(key) })
	c.addTrusts()
	byEndpoints := c.clusters.Index(func(_ string, x *Cluster, add func(string)) { add(x.Destination.ID + x.variant) })
	c.endpoints = derive.Derive(c.below.Schema, "endpoints", byEndpoints, derive.Values[Endpoints]{
		Equal: func(a, b *Endpoints) bool {
			return a.Name == b.Name && derive.Same(a.List, b.List) && slices.Equal(a.Left, b.Left)
		},
	}, func(r *derive.Reader, key string) *Endpoints {
		id, v := tables.CutVariant(key)
		behind := index.Need(c.below.Members, r, id)
		return &Endpoints{Endpoints: effective.Endpoints{Name: v.ClusterName(index.Need(c.below.Destinations, r, id).Destination), List: behind.Subset(v.Tags), Left: behind.Left}}
	})
	c.clustersOf = derive.Derive(c.below.Schema, "held", c.ClusterRefs, derive.Values[clusters]{
		Equal: func(a, b *clusters) bool { return slices.Equal(a.list, b.list) },
		Hash:  func(h *clusters) uint64 { return h.of },
	}, func(r *derive.Reader, key string) *clusters {
		return c.Mesh(r).clustersFor(index.Need(c.ClusterRefs, r, key))
	})
	c.Inbounds = derive.Derive(c.below.Schema, "inbounds", c.below.Dataplanes, derive.Values[Inbounds]{
		Equal: func(a, b *Inbounds) bool {
			return slices.Equal(a.List, b.List) && slices.Equal(a.edges, b.edges) && a.whole == b.whole
		},
	}, func(r *derive.Reader, key string) *Inbounds {
		p := index.Need(c.below.Dataplanes, r, key)
		made := &Inbounds{c.Mesh(r).inboundsOf(p), c.Mesh(r).edgesOf(p), c.Mesh(r).wholeOf(p)}
		made.reuse(c.Inbounds.Before(r))
		return made
	})
	c.InboundsIn = c.Inbounds.Index(func(_ string, x *Inbounds, add func(string)) {
		for _, bucket := range []string{effective.OpenInbounds, effective.PlainInbounds, effective.BytesInbounds} {
			if slices.ContainsFunc(x.List, func(in effective.InboundUse) bool { return in.Is(bucket) }) {
				add(bucket)
			}
		}
	})
	c.Outbounds = derive.Derive(c.below.Schema, "outbounds", c.below.Dataplanes, derive.Values[Outbounds]{
		Equal: (*Outbounds).equal, Hash: func(l *Outbounds) uint64 { return l.of },
	}, func(r *derive.Reader, key string) *Outbounds {
		return c.Mesh(r).outboundsOf(key, c.Outbounds.Before(r))
	})
	c.Resolved = derive.Derive(c.below.Schema, "resolved", c.below.Dataplanes, derive.Values[effective.Resolved]{},
		func(r *derive.Reader, key string) *effective.Resolved {
			return c.Mesh(r).resolve(index.Need(c.below.Dataplanes, r, key), key, c.Resolved.Before(r))
		})
}

// uses finds the tables of what a dataplane calls, and the clusters behind them.
func (m Mesh) uses(p *index.Dataplane, classes, groups []string) *ClusterRefs {
	u := &ClusterRefs{make([]clusterRef, 0, len(classes))}
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
		u.clusters = append(u.clusters, clusterRef{class + ref.Variant, ref.Id + ref.Variant, ref.Connections})
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
func (m Mesh) cluster(key string) *Cluster {
	key, v := tables.CutVariant(key)
	id, bits := reachability.CutClass(key)
	d, x := index.Need(m.Destinations, m.At, id), index.Need(m.Classes, m.At, key)
	if x == nil { // they do not call it, only send to it
		x = tables.NewClass(d, index.Need(m.Subjects, m.At, id), bits, len(m.Kinds))
	}
	behind := index.Need(m.Members, m.At, id)
	return &Cluster{variant: v.Key(), Cluster: effective.Cluster{TLS: m.ClusterTLS(d.Destination, behind.Peers), Name: v.ClusterName(d.Destination), Destination: d.Destination, Tags: v.Tags, Balance: v.Balance,
		HTTP2: v.HTTP2 || behind.HTTP2 && d.Protocol.HTTPLike(), Policies: m.OnCluster(x, v)}}
}

func (m Mesh) clustersFor(u *ClusterRefs) *clusters {
	out := &clusters{make([]effective.ClusterUse, 0, len(u.clusters)), u.hash()}
	for _, n := range u.clusters {
		c, e := index.Need(m.clusters, m.At, n.cluster), index.Need(m.endpoints, m.At, n.endpoints)
		if c != nil && e != nil {
			out.list = append(out.list, effective.ClusterUse{Cluster: &c.Cluster, Endpoints: &e.Endpoints, ConnectionsOnly: n.connectionsOnly, ClusterCache: &c.cache, EndpointsCache: &e.cache})
		}
	}
	slices.SortFunc(out.list, func(a, b effective.ClusterUse) int { return cmp.Compare(a.Cluster.Name, b.Cluster.Name) })
	return out
}

// Cluster is a cluster of a class of dataplanes, with what is made of it.
type Cluster struct {
	effective.Cluster
	variant string // as the end of a key
	cache   effective.Derived
}

// Endpoints are those of clusters of one name, with what is made of them.
type Endpoints struct {
	effective.Endpoints
	cache effective.Derived
}
