package resolve

import (
	"cmp"
	"reflect"
	"slices"
	"sort"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

// same reports equal content. It is asked only about values that a change might
// have touched, to keep the old ones in place where it did not.
func same[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

func newDataplane(o *api.Object, zone map[string]string) *dataplane {
	spec, _ := o.Spec.(*api.Dataplane)
	if spec == nil || spec.Networking == nil {
		spec = &api.Dataplane{Networking: &api.Networking{}}
	}
	return &dataplane{object: o, spec: spec, facts: matcher.DataplaneOf(o, zone)}
}

// plan resolves one dataplane; before is its predecessor, nil for a new one, and
// sameNames says that both have the same names. Of an unchanged dataplane only
// what became of its destinations is looked at again.
func (u *updater) plan(p *dataplane, before *planed) (n *planed, sameNames bool) {
	n, old := &planed{plane: p}, before.value()
	known := before != nil && before.plane == p
	sameNames = known && len(u.names) == 0
	r := &Resolved{Ref: p.object.Ref, Dataplane: p.object}
	if sameNames {
		n.calls, r.Outbounds = u.sameCalls(before)
	} else {
		n.calls, r.Outbounds = u.newCalls(p)
	}
	if sameNames = sameNames && n.namesSame(before); sameNames {
		u.sameClusters(n, r, before)
	} else {
		u.planClusters(n, r, before)
	}
	if known && !u.limits {
		r.Inbounds = old.Inbounds
	} else {
		r.Inbounds = keepInbounds(u.inbounds(p, u.inboundPolicies()), old)
	}
	n.resolved = keep(r, old)
	return n, sameNames
}

func compareOutbounds(a, b *Outbound) int {
	return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Destination.ID, b.Destination.ID))
}

// newCalls is what a dataplane calls, and its outbounds.
func (u *updater) newCalls(p *dataplane) ([]call, []*Outbound) {
	calls := u.calls(p)
	var out []*Outbound
	for i := range calls {
		if c := &calls[i]; c.dest != nil {
			c.class = u.class(c.dest, p)
			out = append(out, c.outbound())
		}
	}
	slices.SortFunc(out, compareOutbounds)
	return calls, out
}

// sameCalls is the same for an unchanged dataplane while no destination came or
// went: what it was before, but where something else is said about a destination.
func (u *updater) sameCalls(before *planed) ([]call, []*Outbound) {
	calls, out := slices.Clone(before.calls), slices.Clone(before.resolved.Outbounds)
	for i := range calls {
		c := &calls[i]
		if c.dest == nil {
			continue
		}
		now, moved := u.moved[c.dest.ID]
		if !moved {
			continue
		}
		if now.subjects != c.dest.subjects {
			c.class = u.class(now, before.plane)
			o := c.outbound()
			if j, ok := slices.BinarySearchFunc(out, o, compareOutbounds); ok {
				out[j] = o
			}
		}
		c.dest = now
	}
	return calls, out
}

// outbound is the listener to what is called.
func (c *call) outbound() *Outbound {
	return &Outbound{Address: c.address, Port: c.port, Destination: c.dest.Destination,
		Table: c.class.table, TCP: c.class.tcp, Policies: c.class.outbound}
}

// namesSame reports whether the tables of both name the same clusters for the same
// traffic.
func (p *planed) namesSame(before *planed) bool {
	return slices.EqualFunc(p.calls, before.calls, func(a, b call) bool {
		return a.class == b.class ||
			slices.EqualFunc(a.class.clusters, b.class.clusters, func(x, y clusterRef) bool {
				return x.name == y.name && x.connections == y.connections
			})
	})
}

// sameClusters keeps the clusters of before but for those whose destination is
// no longer the same.
func (u *updater) sameClusters(n *planed, r *Resolved, before *planed) {
	n.behind, r.Clusters = slices.Clone(before.behind), slices.Clone(before.resolved.Clusters)
	for i, d := range n.behind {
		now, moved := u.moved[d.ID]
		if !moved {
			continue
		}
		n.behind[i] = now
		was := r.Clusters[i]
		ref := clusterRef{id: d.ID, name: was.Cluster.Name, tags: was.Tags}
		r.Clusters[i] = ClusterUse{u.cluster(now, ref, n.plane), u.endpoints(now, ref), was.ConnectionsOnly}
	}
}

// planClusters collects the clusters that the tables of n name, sorted by name.
func (u *updater) planClusters(n *planed, r *Resolved, before *planed) {
	requests := map[string]bool{} // whether some table sends requests to the cluster
	for i := range n.calls {
		if n.calls[i].class == nil {
			continue
		}
		for _, ref := range n.calls[i].class.clusters {
			known, seen := requests[ref.name]
			requests[ref.name] = known || !ref.connections
			if seen {
				continue
			}
			d, ok := u.mesh.dests.Get([]byte(ref.id))
			if !ok {
				continue
			}
			use, same := before.cluster(n.plane, ref.name, d)
			if !same {
				use = ClusterUse{Cluster: u.cluster(d, ref, n.plane), Endpoints: u.endpoints(d, ref)}
			}
			r.Clusters = append(r.Clusters, use)
			n.behind = append(n.behind, d)
		}
	}
	for i := range r.Clusters {
		r.Clusters[i].ConnectionsOnly = !requests[r.Clusters[i].Cluster.Name]
	}
	sort.Sort(byClusterName{r.Clusters, n.behind})
}

// byClusterName sorts clusters together with their destinations.
type byClusterName struct {
	uses   []ClusterUse
	behind []*dest
}

func (b byClusterName) Len() int           { return len(b.uses) }
func (b byClusterName) Less(i, j int) bool { return b.uses[i].Cluster.Name < b.uses[j].Cluster.Name }
func (b byClusterName) Swap(i, j int) {
	b.uses[i], b.uses[j] = b.uses[j], b.uses[i]
	b.behind[i], b.behind[j] = b.behind[j], b.behind[i]
}

// cluster is what a predecessor has under the name, if nothing about its
// destination d changed for the dataplane.
func (p *planed) cluster(plane *dataplane, name string, d *dest) (ClusterUse, bool) {
	if p == nil || p.plane != plane {
		return ClusterUse{}, false
	}
	i, ok := slices.BinarySearchFunc(p.resolved.Clusters, name, compareClusterName)
	if !ok || p.behind[i] != d {
		return ClusterUse{}, false
	}
	return p.resolved.Clusters[i], true
}

func compareClusterName(c ClusterUse, name string) int { return cmp.Compare(c.Cluster.Name, name) }

// names are the service names of everything that p calls or sends to, sorted: a
// change of one of them concerns it. They are worked out when they are needed: they
// follow from what p holds, and few updates change them.
func (p *planed) names() []string {
	if p == nil {
		return nil
	}
	var out []string
	for i := range p.calls {
		if name := p.calls[i].name; name != "" {
			out = append(out, name)
		}
		if d := p.calls[i].dest; d != nil {
			out = append(out, d.names()...)
		}
	}
	for _, d := range p.behind {
		out = append(out, d.names()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// keepInbounds puts the inbounds of the predecessor back where they are equal.
func keepInbounds(list []*Inbound, old *Resolved) []*Inbound {
	if old == nil {
		return list
	}
	for i, in := range list {
		if i < len(old.Inbounds) && in.equal(old.Inbounds[i]) {
			list[i] = old.Inbounds[i]
		}
	}
	return list
}

// keep puts the old parts of r back where they are equal, and is old as a whole
// if nothing changed.
func keep(r, old *Resolved) *Resolved {
	if old == nil {
		return r
	}
	equal := r.Dataplane == old.Dataplane && len(r.Outbounds) == len(old.Outbounds) &&
		slices.Equal(r.Inbounds, old.Inbounds) && slices.Equal(r.Clusters, old.Clusters)
	for i, o := range r.Outbounds {
		if j, ok := slices.BinarySearchFunc(old.Outbounds, o, compareOutbounds); ok && o.equal(old.Outbounds[j]) {
			r.Outbounds[i] = old.Outbounds[j]
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
