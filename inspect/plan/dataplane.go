package plan

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/xds/resource"
)

// union are the keys of two maps, sorted.
func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// inboundsOf is what changes about the ports of a workload.
func (d *differ) inboundsOf(base Effect, before, after *effective.Resolved) (out []*entry[Effect]) {
	if slices.EqualFunc(before.Inbounds, after.Inbounds, func(a, b effective.InboundUse) bool { return a.Inbound == b.Inbound }) {
		return nil
	}
	was := map[Inbound]*effective.Inbound{}
	for _, in := range before.Inbounds {
		was[*inboundOf(in.Inbound)] = in.Inbound
	}
	for _, in := range after.Inbounds {
		key := *inboundOf(in.Inbound)
		a := was[key]
		delete(was, key)
		if a != in.Inbound {
			out = append(out, d.inbound(base, a, in.Inbound)...)
		}
	}
	for _, in := range before.Inbounds {
		if was[*inboundOf(in.Inbound)] != nil {
			out = append(out, d.inbound(base, in.Inbound, nil)...)
		}
	}
	return out
}

// inboundOf tells an inbound from others of its dataplane.
func inboundOf(in *effective.Inbound) *Inbound { return &Inbound{in.Name, in.Address, in.Port} }

// inbound is what changes about one port, of which a is nil where it is new, and b where it goes.
func (d *differ) inbound(base Effect, a, b *effective.Inbound) (out []*entry[Effect]) {
	type told struct {
		address  any
		protocol any
		policies effective.Policies
		spoken   api.Protocol
	}
	of := func(in *effective.Inbound) (t told) {
		if in != nil {
			base.Inbound = inboundOf(in)
			t = told{net.JoinHostPort(in.Address, strconv.Itoa(int(in.Port))), in.Protocol, in.Policies, in.Protocol}
		}
		return t
	}
	was, is := of(a), of(b)
	e := base
	if e.Section, e.Before, e.After = SectionInbound, was.address, is.address; differs(e.Before, e.After) {
		out = append(out, d.effect(e))
	}
	if e.Section, e.Before, e.After = SectionProtocol, was.protocol, is.protocol; a != nil && b != nil && differs(e.Before, e.After) {
		out = append(out, d.effect(e))
	}
	if b == nil {
		return out
	}
	pair := policyPair{base.Mesh, *base.Inbound, identity(was.policies), identity(is.policies), was.spoken, is.spoken}
	known, ok := d.inbounds[pair]
	if !ok {
		known = d.policies(base, sim.PolicyViews(was.policies, was.spoken), sim.PolicyViews(is.policies, is.spoken))
		d.inbounds[pair] = known
	}
	return append(out, known...)
}

// wholeOf is what changes of what holds of a dataplane as a whole.
func (d *differ) wholeOf(base Effect, before, after *effective.Resolved) []*entry[Effect] {
	if before.Whole == after.Whole {
		return nil
	}
	return d.policies(base, sim.PolicyViews(before.OfWhole(), ""), sim.PolicyViews(after.OfWhole(), ""))
}

// clustersOf is what changes about the destinations that requests and connections go on to.
func (d *differ) clustersOf(base Effect, before, after *effective.Resolved) (out []*entry[Effect]) {
	if slices.EqualFunc(before.Clusters, after.Clusters, func(a, b effective.ClusterUse) bool { return a.Cluster.Name == b.Cluster.Name }) {
		for i, b := range after.Clusters { // as a rule, and most of them are shared
			out = append(out, d.clusterOf(base, before.Clusters[i], b)...)
		}
		return out
	}
	was := map[string]effective.ClusterUse{}
	for _, u := range before.Clusters {
		was[u.Cluster.Name] = u
	}
	for _, b := range after.Clusters {
		if a, ok := was[b.Cluster.Name]; ok {
			out = append(out, d.clusterOf(base, a, b)...)
		}
	}
	return out
}

// clusterOf is what changes about one of those.
func (d *differ) clusterOf(base Effect, a, b effective.ClusterUse) (out []*entry[Effect]) {
	sameCluster := a.Cluster == b.Cluster && a.Protocol() == b.Protocol()
	if sameCluster && a.Endpoints == b.Endpoints {
		return nil
	}
	e := about(base, b.Destination)
	if !sameCluster {
		out = append(out, d.cluster(e, a, b)...)
	}
	if a.Endpoints != b.Endpoints {
		out = append(out, d.endpointsOf(e, a.Endpoints, b.Endpoints)...)
	}
	return out
}

func (d *differ) cluster(base Effect, a, b effective.ClusterUse) []*entry[Effect] {
	pair := clusterPair{base.Mesh, a.Cluster, b.Cluster, a.Protocol(), b.Protocol()}
	known, ok := d.clusters[pair]
	if !ok {
		known = d.policies(base, sim.PolicyViews(a.Cluster.Policies, pair.was), sim.PolicyViews(b.Cluster.Policies, pair.is))
		d.clusters[pair] = known
	}
	return known
}

// endpointsOf are those that go and those that come.
func (d *differ) endpointsOf(base Effect, a, b *effective.Endpoints) []*entry[Effect] {
	pair := endpointsPair{base.Mesh, *base.Destination, a, b}
	known, ok := d.endpoints[pair]
	if ok {
		return known
	}
	was, is := addresses(a), addresses(b)
	stays := func(at string) bool { _, there := slices.BinarySearch(is, at); return there }
	hadIt := func(at string) bool { _, there := slices.BinarySearch(was, at); return there }
	base.Section = SectionEndpoints
	base.Before = orNil(slices.DeleteFunc(slices.Clone(was), stays))
	base.After = orNil(slices.DeleteFunc(slices.Clone(is), hadIt))
	if base.Before != nil || base.After != nil {
		known = append(known, d.effect(base))
	}
	d.endpoints[pair] = known
	return known
}

// addresses are those of endpoints, sorted.
func addresses(e *effective.Endpoints) []string {
	if e == nil {
		return nil
	}
	var out []string
	for i := range e.List {
		out = append(out, net.JoinHostPort(e.List[i].Address, strconv.Itoa(int(e.List[i].Port))))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// changed are the resources of the Envoy of a dataplane that are others. Of one that is
// gone nothing is known: who has its place asks as another.
func (d *differ) changed(ref api.Ref, before, after *effective.Resolved) (out []*entry[Resource]) {
	if after == nil {
		return nil
	}
	was, is := &resource.State{}, d.renderer.Render(after)
	if before != nil {
		was = d.renderer.Render(before)
	}
	if after.Failed != "" {
		is = is.Over(was)
	}
	for i, now := range lists(is) {
		out = append(out, d.among(ref.Mesh, lists(was)[i], now)...)
	}
	return out
}

// among are the resources of one type that are others, of lists sorted by name.
func (d *differ) among(mesh string, old, now []*resource.Resource) (out []*entry[Resource]) {
	add := func(was, is *resource.Resource, action string) {
		r := cmp.Or(is, was)
		out = append(out, d.resource(Resource{Mesh: mesh, Type: r.Type[strings.LastIndexByte(r.Type, '.')+1:], Name: r.Name, Action: action}, was, is))
	}
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].Name < now[0].Name:
			add(old[0], nil, "delete")
			old = old[1:]
		case len(old) == 0 || now[0].Name < old[0].Name:
			add(nil, now[0], "create")
			now = now[1:]
		default:
			if old[0] != now[0] && old[0].Version != now[0].Version {
				add(old[0], now[0], "update")
			}
			old, now = old[1:], now[1:]
		}
	}
	return out
}

func lists(s *resource.State) [][]*resource.Resource {
	return [][]*resource.Resource{s.Listeners, s.Routes, s.Clusters, s.Endpoints, s.Secrets}
}
