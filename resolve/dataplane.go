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

// resolve is everything that applies to one dataplane. Of what failed it says why.
func (m mesh) resolve(p *dataplane, key string) *Resolved {
	out := &Resolved{Ref: p.object.Ref, Dataplane: p.object}
	failed := m.outbounds(out, key)
	h, f := m.held.Get(m.at, key)
	if failed = cmp.Or(failed, f); h != nil {
		out.Clusters = h.list
	}
	in, f := m.inbounds.Get(m.at, key)
	if failed = cmp.Or(failed, f); in != nil {
		out.Inbounds, out.Edges = in.list, in.edges
	}
	if failed != nil {
		out.Failed = failed.Cause
	}
	return out
}

// outbounds adds those that a dataplane calls to out, by address and port.
func (m mesh) outbounds(out *Resolved, key string) (failed *derive.Failed) {
	list, failed := m.calls.Get(m.at, key)
	x, f := m.called.Get(m.at, key)
	if failed = cmp.Or(failed, f); failed != nil {
		return failed
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
		c := &list.list[i]
		out.Outbounds = append(out.Outbounds, newOutbound(c, t))
	}
	slices.SortFunc(out.Outbounds, compareOutbounds)
	return failed
}

// newOutbound makes an outbound and what stands beside it in one piece.
func newOutbound(c *call, t *routed) *Outbound {
	x := &outboundKept{Outbound: Outbound{Address: c.address, Port: c.port, Destination: t.dest, Table: t.table, TCP: t.tcp, Kept: t.kept, Policies: t.policies, Edge: c.edge}}
	x.Listener = &x.kept
	return &x.Outbound
}

func compareOutbounds(a, b *Outbound) int {
	if c := cmp.Compare(a.Address, b.Address); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Port, b.Port); c != 0 {
		return c
	}
	return cmp.Compare(a.Destination.ID, b.Destination.ID)
}

func compareClusterName(c ClusterUse, name string) int { return cmp.Compare(c.Cluster.Name, name) }

// share puts the outbounds of r into made where they are equal, and is r as a
// whole if nothing changed.
func (r *Resolved) share(made *Resolved) *Resolved {
	equal := r.Dataplane == made.Dataplane && r.Failed == made.Failed && len(r.Outbounds) == len(made.Outbounds) &&
		slices.Equal(r.Inbounds, made.Inbounds) && slices.Equal(r.Edges, made.Edges) && slices.Equal(r.Clusters, made.Clusters)
	for i, o := range made.Outbounds {
		j, ok := i, i < len(r.Outbounds) && compareOutbounds(o, r.Outbounds[i]) == 0 // as a rule
		if !ok {
			j, ok = slices.BinarySearchFunc(r.Outbounds, o, compareOutbounds)
		}
		if ok && o.equal(r.Outbounds[j]) {
			made.Outbounds[i] = r.Outbounds[j]
		} else {
			equal = false
		}
	}
	if equal {
		return r
	}
	return made
}

func (o *Outbound) equal(p *Outbound) bool {
	return o.Destination == p.Destination && o.Table == p.Table && o.TCP == p.TCP && o.Policies.is(p.Policies)
}
