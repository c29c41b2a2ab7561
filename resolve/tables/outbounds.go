package tables

import (
	"slices"

	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
)

type cachedOutbound struct {
	effective.Outbound
	cache effective.Derived
}

// groupOutbounds are the outbounds that the dataplanes of a group share, by destination.
type groupOutbounds struct {
	List   []*effective.Outbound
	Failed *derive.Failed
}

// newOutbound makes an outbound and what stands beside it in one piece.
func newOutbound(c *reachability.Call, t *ClassTable) *effective.Outbound {
	x := &cachedOutbound{Outbound: effective.Outbound{Address: c.Address, Port: c.Port, Destination: t.dest, Table: t.table, TCP: t.tcp, Cache: t.cache, Policies: t.policies, Edge: c.Edge, Passthrough: c.Passes, Named: c.Named}}
	x.Listener = &x.cache
	return &x.Outbound
}

// Outbounds are those that were there before, by address and port.
type Outbounds []*effective.Outbound

// Outbound is the one of list for a call, where t was already what it is about, or else
// a new one. As a rule it is at the place i.
func (list Outbounds) Outbound(c *reachability.Call, t *ClassTable, i int) *effective.Outbound {
	at := func(o *effective.Outbound, c *reachability.Call) int { return o.Compare(c.Address, c.Port, t.dest.ID) }
	if i >= len(list) || at(list[i], c) != 0 {
		var ok bool
		if i, ok = slices.BinarySearchFunc(list, c, at); !ok {
			return newOutbound(c, t)
		}
	}
	if o := list[i]; o.Edge == c.Edge && o.Passthrough == c.Passes && o.Named == c.Named && t.leads(o) {
		return o
	}
	return newOutbound(c, t)
}

// leads reports whether an outbound is what one to r would be.
func (r *ClassTable) leads(o *effective.Outbound) bool {
	return o.Destination == r.dest && o.Table == r.table && o.TCP == r.tcp && o.Policies.Is(r.policies)
}

// atVirtual makes the outbounds at the virtual addresses of the destination. Of those that
// were there before the ones stay that are equal.
func (r *ClassTable) atVirtual(before *ClassTable) {
	var known []*effective.Outbound
	if before != nil {
		known = before.virtual
	}
	for _, vip := range r.dest.VIPs {
		i := slices.IndexFunc(known, func(o *effective.Outbound) bool {
			return o.Address == vip && o.Port == r.dest.VirtualPort() && r.leads(o)
		})
		if i >= 0 {
			r.virtual = append(r.virtual, known[i])
		} else {
			r.virtual = append(r.virtual, newOutbound(&reachability.Call{Address: vip, Port: r.dest.VirtualPort()}, r))
		}
	}
}

// VirtualAt is the shared outbound of a call to a virtual address; nil for other calls.
func (r *ClassTable) VirtualAt(c *reachability.Call) *effective.Outbound {
	if c.Index >= 0 || c.Edge || c.Passes {
		return nil
	}
	for _, o := range r.virtual {
		if o.Address == c.Address && o.Port == c.Port {
			return o
		}
	}
	return nil
}

// addGroupOutbounds derives where the requests of a group to its hosts go.
func (c *Stage) addGroupOutbounds() {
	c.GroupOutbounds = derive.Derive(c.below.Schema, "outbounds of groups", c.below.HostsOfGroups, derive.Values[groupOutbounds]{
		Equal: func(a, b *groupOutbounds) bool { return a.Failed == b.Failed && slices.Equal(a.List, b.List) },
	}, func(r *derive.Reader, key string) *groupOutbounds {
		k, out := reachability.GroupOf(key), &groupOutbounds{}
		var known Outbounds
		if before := c.GroupOutbounds.Before(r); before != nil {
			known = before.List
		}
		for _, h := range index.Need(c.below.HostsOfGroups, r, key).List {
			t, failed := c.Tables.Get(r, h.Class)
			if failed != nil {
				out.Failed = failed
				continue
			}
			at := &reachability.Call{Address: k.Address, Port: k.Port, Dest: h.Dest, Passes: true, Named: h.Named}
			out.List = append(out.List, known.Outbound(at, t, len(out.List)))
		}
		return out
	})
	c.GroupClusterNames = derive.Derive(c.below.Schema, "clusters named by groups", c.below.HostsOfGroups, derive.Values[ClusterNames]{Equal: (*ClusterNames).equal},
		func(r *derive.Reader, key string) *ClusterNames {
			out, seen := &ClusterNames{}, map[string]bool{}
			for _, h := range index.Need(c.below.HostsOfGroups, r, key).List {
				for _, ref := range c.Mesh(r).ClustersNamed(c.ClusterNames, h.Class) {
					if !seen[ref.Name] {
						seen[ref.Name] = true
						out.clusters = append(out.clusters, ref)
					}
				}
			}
			return out
		})
}
