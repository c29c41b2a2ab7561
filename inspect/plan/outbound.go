package plan

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
)

// called is a destination as one dataplane calls it.
type called struct {
	*effective.Outbound // one of its listeners; all have the same routes
	addresses           []string
}

// callKey tells what a dataplane calls from what clients call at it.
type callKey struct {
	id   string
	edge bool
}

func keyOf(o *effective.Outbound) callKey { return callKey{o.Destination.ID, o.Edge} }

// sameCall reports whether two outbounds are one destination at one address.
func sameCall(a, b *effective.Outbound) bool {
	return a == b || keyOf(a) == keyOf(b) && a.Address == b.Address && a.Port == b.Port
}

// calls are the destinations of a dataplane, in the order of their first listeners.
func calls(r *effective.Resolved) (map[callKey]*called, []callKey) {
	found, order := map[callKey]*called{}, []callKey(nil)
	for _, o := range r.Outbounds {
		key := keyOf(o)
		if found[key] == nil {
			found[key] = &called{Outbound: o}
			order = append(order, key)
		}
		c := found[key]
		c.addresses = append(c.addresses, net.JoinHostPort(o.Address, strconv.Itoa(int(o.Port))))
	}
	return found, order
}

// outboundsOf is what changes about the destinations that a dataplane calls.
func (d *differ) outboundsOf(base Effect, before, after *effective.Resolved) (out []*entry[Effect]) {
	if slices.EqualFunc(before.Outbounds, after.Outbounds, sameCall) { // as a rule, and most of them are shared
		for i, b := range after.Outbounds {
			a := before.Outbounds[i]
			if (a != b || d.onward(before, a) != d.onward(after, b)) && !slices.ContainsFunc(after.Outbounds[:i], func(o *effective.Outbound) bool { return keyOf(o) == keyOf(b) }) {
				out = append(out, d.outbound(about(base, b.Destination), side{before, a}, side{after, b})...)
			}
		}
		return out
	}
	was, order := calls(before)
	is, newer := calls(after)
	for _, key := range order {
		if is[key] == nil {
			e := about(base, was[key].Destination)
			e.Section, e.Before = SectionOutbound, was[key].addresses
			out = append(out, d.effect(e))
		}
	}
	for _, key := range newer {
		b, a := was[key], is[key]
		e := about(base, a.Destination)
		e.Section, e.After = SectionOutbound, a.addresses
		if b != nil {
			e.Before = b.addresses
		}
		if differs(e.Before, e.After) {
			out = append(out, d.effect(e))
		}
		if b != nil && (b.Outbound != a.Outbound || d.onward(before, b.Outbound) != d.onward(after, a.Outbound)) {
			out = append(out, d.outbound(about(base, a.Destination), side{before, b.Outbound}, side{after, a.Outbound})...)
		}
	}
	return out
}

// about is base for a destination.
func about(base Effect, d *effective.Destination) Effect {
	base.Destination = &sim.Destination{Kind: d.Kind, Name: d.Name, Namespace: d.Namespace, Port: d.Port}
	return base
}

// side is an outbound of a dataplane as it was, or as it would be.
type side struct {
	of *effective.Resolved
	*effective.Outbound
}

// onward tells apart how connections are opened to other destinations to which an outbound of r leads;
// empty where there are none.
func (d *differ) onward(r *effective.Resolved, o *effective.Outbound) string {
	var out []byte
	for _, name := range d.leadsTo(o) {
		if i, ok := slices.BinarySearchFunc(r.Clusters, name, func(u effective.ClusterUse, name string) int { return cmp.Compare(u.Cluster.Name, name) }); ok {
			out = fmt.Appendf(out, "%p %t ", r.Clusters[i].Cluster, r.Clusters[i].ConnectionsOnly)
		}
	}
	return string(out)
}

// leadsTo are the clusters of other destinations, or of subsets, to which an outbound leads.
func (d *differ) leadsTo(o *effective.Outbound) (out []string) {
	elsewhere := func(list []effective.Backend) {
		for i := range list {
			if b := &list[i]; b.Cluster != "" && b.Cluster != o.Destination.ID && b.Weight > 0 && !slices.Contains(out, b.Cluster) {
				out = append(out, b.Cluster)
			}
		}
	}
	if o.Table != nil {
		known, ok := d.leads[o.Table]
		if !ok {
			for _, rt := range o.Table.Routes {
				elsewhere(rt.Backends)
			}
			d.leads[o.Table] = out
			return out
		}
		return known
	}
	if o.TCP == nil {
		return nil
	}
	known, ok := d.connects[o.TCP]
	if !ok {
		for part := range o.TCP.Parts() {
			elsewhere(part.Backends)
		}
		d.connects[o.TCP] = out
		return out
	}
	return known
}

// outbound is what changes about one destination, whoever calls it.
func (d *differ) outbound(base Effect, a, b side) []*entry[Effect] {
	pair := outboundPair{base.Mesh, *base.Destination, a.Table, b.Table, a.TCP, b.TCP, identity(a.Policies), identity(b.Policies), a.Protocol(), b.Protocol(), ""}
	was, is := d.onward(a.of, a.Outbound), d.onward(b.of, b.Outbound)
	if was != is {
		pair.onward = was + "\n" + is
	}
	if known, ok := d.outbounds[pair]; ok {
		return known
	}
	var out []*entry[Effect]
	if pair.was != pair.is {
		e := base
		e.Section, e.Before, e.After = SectionProtocol, pair.was, pair.is
		out = append(out, d.effect(e))
	}
	if pair.before != pair.after || pair.before != nil && was != is {
		out = append(out, d.routes(base, a, b)...)
	}
	if pair.connections != pair.newer {
		out = append(out, d.connections(base, a.TCP, b.TCP)...)
	}
	if pair.policiesBefore != pair.policiesBy || pair.was != pair.is {
		out = append(out, d.policies(base, sim.PolicyViews(a.Policies, pair.was), sim.PolicyViews(b.Policies, pair.is))...)
	}
	d.outbounds[pair] = out
	return out
}

// connections is what changes about where whole connections go.
func (d *differ) connections(base Effect, a, b *effective.TCPTable) (out []*entry[Effect]) {
	was, is := sentTo(a), sentTo(b)
	for _, name := range union(was, is) {
		e := base
		if name != "" {
			e.Route = &Route{ServerName: name, Text: "connections that ask for " + name + " in TLS"}
		}
		e.Section, e.Before, e.After, e.Origin = PartBackends, was[name].backends, is[name].backends, is[name].by
		if e.After == nil {
			e.Origin = was[name].by
		}
		d.losable(was[name].by)
		if e.Before != nil && e.After != nil && !sameOrigin(was[name].by, is[name].by) {
			e.OriginBefore = was[name].by
		}
		if differs(e.Before, e.After) {
			out = append(out, d.effect(e))
		}
	}
	return out
}

// sent is where connections go.
type sent struct {
	backends any // nil where nobody says anything
	by       *api.Origin
}

// sentTo is where connections go by the names that they ask for, empty for all others.
func sentTo(t *effective.TCPTable) map[string]sent {
	out := map[string]sent{}
	if t == nil {
		return out
	}
	add := func(name string, t *effective.TCPTable) {
		if t.BackendsBy != nil {
			out[name] = sent{sim.Connections(nil, t), t.BackendsBy}
		}
	}
	add("", t)
	for _, s := range t.ServerNames {
		add(s.Name, s.TCPTable)
	}
	return out
}
