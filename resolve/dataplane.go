package resolve

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/derive"
)

// same reports equal content. It is asked only about values that a change might
// have touched, to keep the old ones in place where it did not.
func same[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

// dataplane is one Dataplane object, read once.
type dataplane struct {
	object *api.Object
	spec   *api.Dataplane
	facts  matcher.Dataplane
}

func newDataplane(o *api.Object, zone map[string]string) *dataplane {
	spec, _ := o.Spec.(*api.Dataplane)
	if spec == nil || spec.Networking == nil {
		spec = &api.Dataplane{Networking: &api.Networking{}}
	}
	return &dataplane{object: o, spec: spec, facts: matcher.DataplaneOf(o, zone)}
}

// selectedBy reports whether a selector selects the dataplane.
func (p *dataplane) selectedBy(s *matcher.Selector) bool { return s.Selects(&p.facts) }

// resolve is everything that applies to one dataplane, of which nothing is made that
// was there before, nil for none. Of what failed it says why.
func (m mesh) resolve(p *dataplane, key string, before *Resolved) *Resolved {
	out := &Resolved{Ref: p.object.Ref, Dataplane: p.object}
	failed := m.outbounds(out, key, before)
	h, f := m.held.Get(m.at, key)
	if failed = cmp.Or(failed, f); h != nil {
		out.Clusters = h.list
	}
	in, f := m.inbounds.Get(m.at, key)
	if failed = cmp.Or(failed, f); in != nil {
		out.Inbounds, out.Edges = in.list, in.edges
	}
	if len(out.Edges) > 0 {
		out.Secrets = m.secretsOf(out)
	}
	if failed != nil {
		out.Failed = failed.Cause
	}
	if before != nil && out.is(before) {
		return before
	}
	return out
}

// outbounds adds those that a dataplane calls to out, by address and port.
func (m mesh) outbounds(out *Resolved, key string, before *Resolved) (failed *derive.Failed) {
	list, failed := m.calls.Get(m.at, key)
	x, f := m.called.Get(m.at, key)
	if failed = cmp.Or(failed, f); failed != nil {
		return failed
	}
	var known outbounds
	if before != nil {
		known = before.Outbounds
	}
	out.Outbounds = make([]*Outbound, 0, len(list.list))
	for i, class := range x.classes {
		if class == "" {
			continue
		}
		t, f := m.routed.Get(m.at, class)
		if f != nil {
			failed = cmp.Or(failed, f)
			continue
		}
		call := &list.list[i]
		if shared := t.virtualAt(call); shared != nil {
			out.Outbounds = append(out.Outbounds, shared)
			continue
		}
		out.Outbounds = append(out.Outbounds, known.outbound(call, t, len(out.Outbounds)))
	}
	slices.SortFunc(out.Outbounds, compareOutbounds)
	for _, group := range m.groupsOf(key) {
		g, f := m.groupOutbounds.Get(m.at, group)
		if failed = cmp.Or(failed, f); f != nil || len(g.list) == 0 {
			continue
		}
		failed = cmp.Or(failed, g.failed)
		i, _ := slices.BinarySearchFunc(out.Outbounds, g.list[0], compareOutbounds) // nobody else has their address
		out.Outbounds = slices.Insert(out.Outbounds, i, g.list...)
	}
	return failed
}

// newOutbound makes an outbound and what stands beside it in one piece.
func newOutbound(c *call, t *routed) *Outbound {
	x := &outboundKept{Outbound: Outbound{Address: c.address, Port: c.port, Destination: t.dest, Table: t.table, TCP: t.tcp, Kept: t.kept, Policies: t.policies, Edge: c.edge, Passthrough: c.passes}}
	x.Listener = &x.kept
	return &x.Outbound
}

// outbounds are those that were there before, by address and port.
type outbounds []*Outbound

// outbound is the one of list for a call, where t was already what it is about, or else
// a new one. As a rule it is at the place i.
func (list outbounds) outbound(c *call, t *routed, i int) *Outbound {
	at := func(o *Outbound, c *call) int { return o.compare(c.address, c.port, t.dest.ID) }
	if i >= len(list) || at(list[i], c) != 0 {
		var ok bool
		if i, ok = slices.BinarySearchFunc(list, c, at); !ok {
			return newOutbound(c, t)
		}
	}
	if o := list[i]; o.Edge == c.edge && o.Passthrough == c.passes && o.isOf(t) {
		return o
	}
	return newOutbound(c, t)
}

// isOf reports whether an outbound is what one to t would be.
func (o *Outbound) isOf(t *routed) bool {
	return o.Destination == t.dest && o.Table == t.table && o.TCP == t.tcp && o.Policies.is(t.policies)
}

// atVirtual makes the outbounds at the virtual addresses of the destination. Of those that
// were there before the ones stay that are equal.
func (r *routed) atVirtual(before *routed) {
	var known []*Outbound
	if before != nil {
		known = before.virtual
	}
	for _, vip := range r.dest.VIPs {
		i := slices.IndexFunc(known, func(o *Outbound) bool { return o.Address == vip && o.Port == r.dest.Port && o.isOf(r) })
		if i >= 0 {
			r.virtual = append(r.virtual, known[i])
		} else {
			r.virtual = append(r.virtual, newOutbound(&call{address: vip, port: r.dest.Port}, r))
		}
	}
}

// virtualAt is the shared outbound of a call to a virtual address; nil for other calls.
func (r *routed) virtualAt(c *call) *Outbound {
	if c.index >= 0 || c.edge || c.passes {
		return nil
	}
	for _, o := range r.virtual {
		if o.Address == c.address && o.Port == c.port {
			return o
		}
	}
	return nil
}

// compare orders an outbound and one at an address to the destination with that id.
func (o *Outbound) compare(address string, port uint32, id string) int {
	if c := cmp.Compare(o.Address, address); c != 0 {
		return c
	}
	if c := cmp.Compare(o.Port, port); c != 0 {
		return c
	}
	return cmp.Compare(o.Destination.ID, id)
}

func compareOutbounds(a, b *Outbound) int { return a.compare(b.Address, b.Port, b.Destination.ID) }

func compareClusterName(c ClusterUse, name string) int { return cmp.Compare(c.Cluster.Name, name) }

// is reports whether r and o consist of the same.
func (r *Resolved) is(o *Resolved) bool {
	return r.Dataplane == o.Dataplane && r.Failed == o.Failed && slices.Equal(r.Outbounds, o.Outbounds) &&
		slices.Equal(r.Inbounds, o.Inbounds) && slices.Equal(r.Edges, o.Edges) && slices.Equal(r.Secrets, o.Secrets) && slices.Equal(r.Clusters, o.Clusters)
}
