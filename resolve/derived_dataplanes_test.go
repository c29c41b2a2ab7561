package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/resolve/derive"
)

// held is the clusters that a dataplane holds, sorted by name.
type held struct{ list []ClusterUse }

// used is the clusters that the tables of a dataplane name.
type used struct{ clusters []use }

// use is a cluster as a dataplane uses it: the keys of its two collections.
type use struct {
	cluster, endpoints string
	connectionsOnly    bool
}

// ports are the inbounds of a dataplane.
type ports struct{ list []*Inbound }

func (c *collections) addDataplanes() {
	c.used = derive.Derive(c.schema, "uses", c.called, derive.Values[used]{Equal: func(a, b *used) bool {
		return slices.Equal(a.clusters, b.clusters)
	}}, c.uses)
	c.usedByCluster = c.used.Index(func(_ string, u *used, add func(string)) {
		for _, x := range u.clusters {
			add(x.cluster)
		}
	})
	c.usedByEndpoints = c.used.Index(func(_ string, u *used, add func(string)) {
		for _, x := range u.clusters {
			add(x.endpoints)
		}
	})
	c.clusters = derive.Derive(c.schema, "clusters", c.usedByCluster, derive.Values[Cluster]{
		Equal: func(a, b *Cluster) bool {
			return a.Name == b.Name && a.Destination == b.Destination && a.HTTP2 == b.HTTP2 && same(a.Tags, b.Tags) && same(a.Policies, b.Policies)
		},
		Hash: func(x *Cluster) uint64 { return x.Policies.hash(mixed(offset, x.Name)) },
	}, func(r *derive.Reader, key string) *Cluster {
		at, tags := cutTags(key)
		d, x := c.class(r, at)
		m, _ := c.members.Get(r, d.ID)
		return &Cluster{Name: clusterName(d.Destination, tags), Destination: d.Destination, Tags: tags,
			HTTP2: m.http2 && d.Protocol.HTTPLike(), Policies: x.onCluster(c.kinds)}
	})
	c.endpoints = derive.Derive(c.schema, "endpoints", c.usedByEndpoints, derive.Values[Endpoints]{
		Equal: func(a, b *Endpoints) bool { return a.Name == b.Name && same(a.List, b.List) },
	}, func(r *derive.Reader, key string) *Endpoints {
		id, tags := cutTags(key)
		d, _ := c.dests.Get(r, id)
		m, _ := c.members.Get(r, id)
		return (&dest{Destination: d.Destination, members: m}).endpoints(clusterName(d.Destination, tags), tags)
	})
	c.inbounds = derive.Derive(c.schema, "inbounds", c.dataplanes, derive.Values[ports]{
		Share: func(old, made *ports) *ports { return &ports{keepInbounds(made.list, &Resolved{Inbounds: old.list})} },
		Equal: func(a, b *ports) bool { return slices.Equal(a.list, b.list) },
	}, func(r *derive.Reader, key string) *ports {
		p, _ := c.dataplanes.Get(r, key)
		about := append(carried(p), anyTarget)
		return &ports{c.at(r).inbounds(p, slices.Collect(inAny(r, c.policiesBySelector, about...)))}
	})
	c.held = derive.Derive(c.schema, "held", c.used, derive.Values[held]{Equal: func(a, b *held) bool { return slices.Equal(a.list, b.list) }},
		func(r *derive.Reader, key string) *held {
			u, _ := c.used.Get(r, key)
			out := &held{make([]ClusterUse, 0, len(u.clusters))}
			for _, n := range u.clusters {
				cluster, _ := c.clusters.Get(r, n.cluster)
				endpoints, _ := c.endpoints.Get(r, n.endpoints)
				if cluster != nil && endpoints != nil {
					out.list = append(out.list, ClusterUse{cluster, endpoints, n.connectionsOnly})
				}
			}
			slices.SortFunc(out.list, func(a, b ClusterUse) int { return cmp.Compare(a.Cluster.Name, b.Cluster.Name) })
			return out
		})
	c.resolved = derive.Derive(c.schema, "resolved", c.called, derive.Values[Resolved]{Share: func(old, made *Resolved) *Resolved { return keep(made, old) }}, c.resolve)
}

// uses finds the tables of what a dataplane calls, and the clusters behind them.
func (c *collections) uses(r *derive.Reader, key string) *used {
	p, _ := c.dataplanes.Get(r, key)
	x, _ := c.called.Get(r, key)
	u := &used{}
	seen := make(map[string]int, 3*len(x.classes)) // where in u.clusters
	classes := make(map[string]string, 2*len(x.classes))
	for _, class := range x.classes {
		t, _ := c.refs.Get(r, class)
		if t == nil {
			continue
		}
		for _, ref := range t.list {
			if i, ok := seen[ref.name]; ok {
				u.clusters[i].connectionsOnly = u.clusters[i].connectionsOnly && ref.connections
				continue
			}
			seen[ref.name] = len(u.clusters)
			at, ok := classes[ref.id]
			if !ok {
				at = c.classOf(r, ref.id, p)
				classes[ref.id] = at
			}
			u.clusters = append(u.clusters, use{withTags(at, ref.tags), withTags(ref.id, ref.tags), ref.connections})
		}
	}
	return u
}

// withTags adds the tags of a subset to a key, cutTags takes them off.
func withTags(key string, tags map[string]string) string {
	if len(tags) == 0 {
		return key
	}
	return key + "\x00\x01" + tagText(tags)
}

func tagText(tags map[string]string) string {
	var list []string
	for k, v := range tags {
		list = append(list, k+"\x02"+v)
	}
	slices.Sort(list)
	return strings.Join(list, "\x03")
}

func cutTags(key string) (string, map[string]string) {
	key, text, ok := strings.Cut(key, "\x00\x01")
	if !ok {
		return key, nil
	}
	tags := map[string]string{}
	for _, t := range strings.Split(text, "\x03") {
		k, v, _ := strings.Cut(t, "\x02")
		tags[k] = v
	}
	return key, tags
}

// resolve is everything that applies to one dataplane.
func (c *collections) resolve(r *derive.Reader, key string) *Resolved {
	p, _ := c.dataplanes.Get(r, key)
	x, _ := c.called.Get(r, key)
	out := &Resolved{Ref: p.object.Ref, Dataplane: p.object, Outbounds: make([]*Outbound, 0, len(x.calls))}
	for i, class := range x.classes {
		if t, _ := c.routed.Get(r, class); t != nil {
			out.Outbounds = append(out.Outbounds, &Outbound{Address: x.calls[i].address, Port: x.calls[i].port, Destination: t.dest,
				Table: t.table, TCP: t.tcp, Policies: t.policies})
		}
	}
	slices.SortFunc(out.Outbounds, compareOutbounds)
	if h, _ := c.held.Get(r, key); h != nil {
		out.Clusters = h.list
	}
	if in, _ := c.inbounds.Get(r, key); in != nil {
		out.Inbounds = in.list
	}
	return out
}
