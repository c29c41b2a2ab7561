package resolve

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
)

// listened is what dataplanes listen at for what they call, by address and port. Those that
// call the same at the same addresses share one.
type listened struct {
	list   []*effective.Outbound
	failed *derive.Failed
	of     uint64 // hash of the calls and their classes
	// redirected says that the dataplanes' traffic is redirected: others listen otherwise.
	redirected bool
}

func (l *listened) equal(o *listened) bool {
	return l.failed == o.failed && l.redirected == o.redirected && slices.EqualFunc(l.list, o.list, (*effective.Outbound).Is)
}

// listenedBy are the outbounds of a dataplane; of those that were there before the ones stay
// that are equal.
func (m dataplanesMesh) listenedBy(key string, before *listened) *listened {
	list, failed := m.Calls.Get(m.At, key)
	x, f := m.Classes.Get(m.At, key)
	if failed = cmp.Or(failed, f); failed != nil {
		return &listened{failed: failed}
	}
	groups := m.GroupsOf(key)
	out := &listened{
		list: make([]*effective.Outbound, 0, len(list.List)), of: derive.Mix(list.Hash^bits.RotateLeft64(x.Hash, 32), groups...),
		redirected: list.Redirected,
	}
	var known outbounds
	if before != nil {
		known = before.list
	}
	for i, class := range x.Classes {
		if class == "" {
			continue
		}
		t, f := m.routed.Get(m.At, class)
		if f != nil {
			failed = cmp.Or(failed, f)
			continue
		}
		call := &list.List[i]
		if shared := t.virtualAt(call); shared != nil {
			out.list = append(out.list, shared)
			continue
		}
		out.list = append(out.list, known.outbound(call, t, len(out.list)))
	}
	slices.SortFunc(out.list, effective.CompareOutbounds)
	for _, group := range groups {
		g, f := m.groupOutbounds.Get(m.At, group)
		if failed = cmp.Or(failed, f); f != nil || len(g.list) == 0 {
			continue
		}
		failed = cmp.Or(failed, g.failed)
		i, _ := slices.BinarySearchFunc(out.list, g.list[0], effective.CompareOutbounds) // nobody else has their address
		out.list = slices.Insert(out.list, i, g.list...)
	}
	out.failed = failed
	return out
}

// newOutbound makes an outbound and what stands beside it in one piece.
func newOutbound(c *reachability.Call, t *routed) *effective.Outbound {
	x := &outboundKept{Outbound: effective.Outbound{Address: c.Address, Port: c.Port, Destination: t.dest, Table: t.table, TCP: t.tcp, Kept: t.kept, Policies: t.policies, Edge: c.Edge, Passthrough: c.Passes, Named: c.Named}}
	x.Listener = &x.kept
	return &x.Outbound
}

// outbounds are those that were there before, by address and port.
type outbounds []*effective.Outbound

// outbound is the one of list for a call, where t was already what it is about, or else
// a new one. As a rule it is at the place i.
func (list outbounds) outbound(c *reachability.Call, t *routed, i int) *effective.Outbound {
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
func (r *routed) leads(o *effective.Outbound) bool {
	return o.Destination == r.dest && o.Table == r.table && o.TCP == r.tcp && o.Policies.Is(r.policies)
}

// atVirtual makes the outbounds at the virtual addresses of the destination. Of those that
// were there before the ones stay that are equal.
func (r *routed) atVirtual(before *routed) {
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

// virtualAt is the shared outbound of a call to a virtual address; nil for other calls.
func (r *routed) virtualAt(c *reachability.Call) *effective.Outbound {
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
func (c *tablesStage) addGroupOutbounds() {
	c.groupOutbounds = derive.Derive(c.below.Schema, "outbounds of groups", c.below.HostsOfGroups, derive.Values[groupOutbounds]{
		Equal: func(a, b *groupOutbounds) bool { return a.failed == b.failed && slices.Equal(a.list, b.list) },
	}, func(r *derive.Reader, key string) *groupOutbounds {
		k, out := reachability.GroupOf(key), &groupOutbounds{}
		var known outbounds
		if before := c.groupOutbounds.Before(r); before != nil {
			known = before.list
		}
		for _, h := range index.Need(c.below.HostsOfGroups, r, key).List {
			t, failed := c.routed.Get(r, h.Class)
			if failed != nil {
				out.failed = failed
				continue
			}
			at := &reachability.Call{Address: k.Address, Port: k.Port, Dest: h.Dest, Passes: true, Named: h.Named}
			out.list = append(out.list, known.outbound(at, t, len(out.list)))
		}
		return out
	})
	c.groupNamed = derive.Derive(c.below.Schema, "clusters named by groups", c.below.HostsOfGroups, derive.Values[named]{Equal: (*named).equal},
		func(r *derive.Reader, key string) *named {
			out, seen := &named{}, map[string]bool{}
			for _, h := range index.Need(c.below.HostsOfGroups, r, key).List {
				for _, ref := range c.derived(r).clustersNamed(c.named, h.Class) {
					if !seen[ref.name] {
						seen[ref.name] = true
						out.clusters = append(out.clusters, ref)
					}
				}
			}
			return out
		})
}
