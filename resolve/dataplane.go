package resolve

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/merge"
)

// same reports equal content. It is asked only about values that a change might
// have touched, to keep the old ones in place where it did not.
func same[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

func newDataplane(o *api.Object) *dataplane {
	spec, _ := o.Spec.(*api.Dataplane)
	if spec == nil || spec.Networking == nil {
		spec = &api.Dataplane{Networking: &api.Networking{}}
	}
	return &dataplane{object: o, spec: spec, facts: matcher.DataplaneOf(o)}
}

// outbound finds the outbound to a destination; nil where there is none.
func (r *Resolved) outbound(id string) *Outbound {
	if r != nil {
		for _, o := range r.Outbounds {
			if o.Destination.ID == id {
				return o
			}
		}
	}
	return nil
}

// cluster finds a cluster by name; both fields are nil where there is none.
func (r *Resolved) cluster(name string) ClusterUse {
	if r != nil {
		if i, ok := slices.BinarySearchFunc(r.Clusters, name, func(c ClusterUse, n string) int { return cmp.Compare(c.Cluster.Name, n) }); ok {
			return r.Clusters[i]
		}
	}
	return ClusterUse{}
}

// plan resolves one dataplane; before is its predecessor, nil for a new one.
func (t *tabler) plan(p *dataplane, before *planed, inbound []*policy) *planed {
	var old *Resolved
	if before != nil {
		old = before.resolved
	}
	n := &planed{plane: p}
	r := &Resolved{Ref: p.object.Ref, Dataplane: p.object}
	clusters := map[string]ClusterUse{}
	for _, call := range t.calls(p) {
		n.uses = append(n.uses, call.names...)
		if call.dest == nil {
			continue
		}
		n.uses = append(n.uses, call.dest.names()...)
		c := t.class(call.dest, p, old)
		o := &Outbound{Address: call.address, Port: call.port, Destination: call.dest.Destination, Table: c.table, TCP: c.tcp, Policies: c.outbound}
		r.Outbounds = append(r.Outbounds, o)
		for _, ref := range c.clusters {
			t.useCluster(clusters, n, ref, p, old)
		}
	}
	slices.SortFunc(r.Outbounds, func(a, b *Outbound) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	for _, c := range clusters {
		r.Clusters = append(r.Clusters, c)
	}
	slices.SortFunc(r.Clusters, func(a, b ClusterUse) int { return cmp.Compare(a.Cluster.Name, b.Cluster.Name) })
	r.Inbounds = t.inbounds(p, inbound)
	slices.Sort(n.uses)
	n.uses = slices.Compact(n.uses)
	n.resolved = keep(r, old)
	return n
}

func (t *tabler) useCluster(clusters map[string]ClusterUse, n *planed, ref clusterRef, p *dataplane, old *Resolved) {
	d, ok := t.mesh.dests.Get([]byte(ref.id))
	name := clusterName(ref.id, ref.tags)
	if _, done := clusters[name]; done || !ok {
		return
	}
	n.uses = append(n.uses, d.names()...)
	clusters[name] = ClusterUse{t.cluster(d, ref.tags, p, old), t.endpoints(d, ref.tags, old)}
}

// keep puts the old parts of r back where they are equal, and is old as a whole
// if nothing changed.
func keep(r, old *Resolved) *Resolved {
	if old == nil {
		return r
	}
	equal := r.Dataplane == old.Dataplane && len(r.Outbounds) == len(old.Outbounds) && len(r.Inbounds) == len(old.Inbounds) && slices.Equal(r.Clusters, old.Clusters)
	for i, o := range r.Outbounds {
		if j, ok := slices.BinarySearchFunc(old.Outbounds, o, func(a, b *Outbound) int {
			return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
		}); ok && o.equal(old.Outbounds[j]) {
			r.Outbounds[i] = old.Outbounds[j]
		} else {
			equal = false
		}
	}
	for i, in := range r.Inbounds {
		if i < len(old.Inbounds) && in.equal(old.Inbounds[i]) {
			r.Inbounds[i] = old.Inbounds[i]
		} else {
			equal = false
		}
	}
	if equal {
		return old
	}
	return r
}

func (o *Outbound) equal(p *Outbound) bool {
	return o.Destination == p.Destination && o.Table == p.Table && o.TCP == p.TCP &&
		len(o.Policies) == len(p.Policies) && (len(o.Policies) == 0 || &o.Policies[0] == &p.Policies[0])
}

func (in *Inbound) equal(o *Inbound) bool {
	return in.Name == o.Name && in.Address == o.Address && in.Port == o.Port && in.ServiceAddress == o.ServiceAddress &&
		in.ServicePort == o.ServicePort && in.Protocol == o.Protocol && in.Ready == o.Ready && same(in.Tags, o.Tags) && same(in.Policies, o.Policies)
}

// inbounds resolves the ports of the workload under the policies that have an
// inbound side.
func (t *tabler) inbounds(p *dataplane, limits []*policy) []*Inbound {
	var out []*Inbound
	net := p.spec.Networking
	for i := range net.Inbound {
		in := &net.Inbound[i]
		if in.State == "Ignored" {
			continue
		}
		address := cmp.Or(in.Address, net.Address)
		x := &Inbound{
			Name: cmp.Or(in.Name, strconv.FormatUint(uint64(in.Port), 10)), Address: address, Port: in.Port,
			ServiceAddress: cmp.Or(in.ServiceAddress, address), ServicePort: cmp.Or(in.ServicePort, in.Port),
			Protocol: inboundProtocol(in), Tags: in.Tags, Ready: ready(in),
		}
		x.Policies = t.inboundPolicies(p, x, limits)
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *Inbound) int { return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Address, b.Address)) })
	return out
}

func (t *tabler) inboundPolicies(p *dataplane, in *Inbound, limits []*policy) Policies {
	var items []*item
	for _, x := range limits {
		if !x.selector.Selects(&p.facts) || !x.selector.SelectsInbound(&p.facts, in.Tags) || !x.onSection(in) {
			continue
		}
		items = append(items, x.inbound...)
	}
	slices.SortFunc(items, byRank)
	all := make(layers, len(t.kinds))
	for _, it := range items {
		k := it.policy.kind
		all[k] = append(all[k], merge.Layer{Name: it.layer, Origin: it.origin, Leaves: it.leaves})
	}
	return all.fold(t.kinds)
}

// onSection reports whether the policy is about that inbound: a top-level
// Dataplane ref may name one by sectionName.
func (p *policy) onSection(in *Inbound) bool {
	return p.section == "" || p.section == in.Name || p.section == strconv.FormatUint(uint64(in.Port), 10)
}
