package resolve

import (
	"cmp"
	"iter"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
)

// inbounds is where a dataplane listens for others.
type inbounds struct {
	list  []effective.InboundUse
	edges []effective.EdgeUse
}

// reuse takes over what there was before where it is equal.
func (x *inbounds) reuse(before *inbounds) {
	if before == nil {
		return
	}
	for i, in := range x.list {
		if i < len(before.list) && in.Equal(before.list[i].Inbound) {
			x.list[i] = before.list[i]
		}
	}
	for i, e := range x.edges {
		if i < len(before.edges) && derive.Same(*e.Edge, *before.edges[i].Edge) {
			x.edges[i] = before.edges[i]
		}
	}
}

// inboundsOf resolves the ports of the workload under the policies that have an
// inbound side.
func (m dataplanesMesh) inboundsOf(p *dataplane) []effective.InboundUse {
	limits := slices.Collect(m.inboundPolicies(p))
	guarded := m.isGuarded()
	var secured *secured
	if guarded {
		secured = need(m.secured, m.at, objectKey(p.object.Ref)) // where it failed, plain text is not what is wanted
	}
	var out []effective.InboundUse
	net := p.spec.Networking
	for i := range net.Inbound {
		in := &net.Inbound[i]
		address := cmp.Or(in.Address, net.Address)
		if in.State == "Ignored" || in.Port == api.MarkerPort || slices.ContainsFunc(net.Inbound[:i], func(o api.Inbound) bool {
			return o.Port == in.Port && o.State != "Ignored" && cmp.Or(o.Address, net.Address) == address
		}) { // several Services on one port of a pod have an inbound each, and one listener
			continue
		}
		x := &inboundKept{Inbound: effective.Inbound{
			Name: cmp.Or(in.Name, strconv.FormatUint(uint64(in.Port), 10)), Address: address, Port: in.Port,
			ServiceAddress: cmp.Or(in.ServiceAddress, address), ServicePort: cmp.Or(in.ServicePort, in.Port),
			Protocol: inboundProtocol(in), Tags: in.Tags, Ready: in.Ready(), Guarded: guarded, TLS: secured.at(p, address, in.Port),
		}}
		if t := secured.documentedAt(p, address, in.Port); t != nil {
			documented := x.Inbound
			documented.TLS = t
			m.heldAt(p, i, &documented, limits)
			x.Documented = &documented
		}
		m.heldAt(p, i, &x.Inbound, limits)
		out = append(out, effective.InboundUse{Inbound: &x.Inbound, Kept: &x.kept})
	}
	slices.SortFunc(out, func(a, b effective.InboundUse) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Address, b.Address))
	})
	return out
}

// heldAt writes what holds at the inbound in, the document's of that index.
func (m dataplanesMesh) heldAt(p *dataplane, index int, in *effective.Inbound, limits []*policy) {
	m.inboundConf(p, in, limits)
	in.Policies = m.withTogether(p, index, in.Policies)
	if in.TLS != nil {
		in.Rules = m.rulesAt(p, index)
	}
	for n, c := range in.Callers {
		in.Callers[n].Policies = m.withTogether(p, index, c.Policies)
	}
}

// inboundPolicies yields the policies with an inbound side that may select p.
func (m identityMesh) inboundPolicies(p *dataplane) iter.Seq[*policy] {
	about := []string{anyTarget}
	carried(p, func(label string) { about = append(about, label) })
	return inAny(m.at, m.policiesBySelector, about...)
}

// inboundConf is what holds at an inbound of all callers, and where certificates prove who
// they are, of some.
func (c *dataplanesStage) inboundConf(p *dataplane, in *effective.Inbound, limits []*policy) {
	var items []*item
	for _, x := range limits {
		if c.below.kinds[x.kind].Collect != nil || !x.selector.Selects(&p.facts) || !x.selector.SelectsInbound(&p.facts, in.Tags) || !x.onSection(in) {
			continue
		}
		items = append(items, x.inbound...)
	}
	slices.SortFunc(items, byRank)
	in.Policies = c.foldOf(items, func(it *item) bool { return len(it.matches) == 0 })
	if in.TLS == nil {
		return
	}
	for _, callers := range callersOf(items) {
		in.Callers = append(in.Callers, effective.CallerPolicies{Callers: callers, Policies: c.foldOf(items, func(it *item) bool { return it.about(callers) })})
	}
}

// foldOf is what those items come to that hold.
func (c *dataplanesStage) foldOf(items []*item, holds func(*item) bool) effective.Policies {
	var own []*item
	all := make(layers, len(c.below.kinds))
	for _, it := range items {
		if holds(it) {
			own = append(own, it)
			all[it.policy.kind] = append(all[it.policy.kind], it.byDefault())
		}
	}
	return all.overridden(ownOverrides(own)).fold(c.below.kinds)
}

// onSection reports whether the policy is about that inbound: a top-level
// Dataplane ref may name one by sectionName.
func (p *policy) onSection(in *effective.Inbound) bool {
	return p.section == "" || p.section == in.Name || p.section == strconv.FormatUint(uint64(in.Port), 10)
}
