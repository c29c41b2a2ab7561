package dataplanes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/resolve/services"
)

// edgesOf are the ports of an edge dataplane, whatever hosts there are. Where listeners
// at one port differ in whether clients speak TLS there, the first that is open decides.
func (m Mesh) edgesOf(p *index.Dataplane) []effective.EdgeUse {
	net := p.Spec.Networking
	var out []effective.EdgeUse
	list := m.Listening(p)
	for i := range list {
		l := &list[i]
		if l.Closed || slices.ContainsFunc(out, func(e effective.EdgeUse) bool { return e.Port == l.Port }) {
			continue // where all are closed nobody listens
		}
		x := &cachedEdge{Edge: effective.Edge{Address: net.Address, Port: l.Port, TrustedHops: net.Gateway.TrustedHops}}
		if l.TLS != nil {
			x.TLS = reachability.AtPort(list, l.Port)
		}
		x.Connections = l.Connections && l.TLS == nil
		out = append(out, effective.EdgeUse{Edge: &x.Edge, Cache: &x.cache})
	}
	slices.SortFunc(out, func(a, b effective.EdgeUse) int { return cmp.Compare(a.Port, b.Port) })
	return out
}

type cachedInbound struct {
	effective.Inbound
	cache effective.Derived
}

type cachedEdge struct {
	effective.Edge
	cache effective.Derived
}

// Inbounds is where a dataplane listens for others.
type Inbounds struct {
	List  []effective.InboundUse
	edges []effective.EdgeUse
	whole *effective.Whole // nil where nobody says anything
}

// reuse takes over what there was before where it is equal.
func (x *Inbounds) reuse(before *Inbounds) {
	if before == nil {
		return
	}
	for i, in := range x.List {
		if i < len(before.List) && in.Equal(before.List[i].Inbound) {
			x.List[i] = before.List[i]
		}
	}
	for i, e := range x.edges {
		if i < len(before.edges) && derive.Same(*e.Edge, *before.edges[i].Edge) {
			x.edges[i] = before.edges[i]
		}
	}
	if derive.Same(x.whole, before.whole) {
		x.whole = before.whole
	}
}

// inboundsOf resolves the ports of the workload under the policies that have an
// inbound side.
func (m Mesh) inboundsOf(p *index.Dataplane) []effective.InboundUse {
	limits := slices.Collect(m.InboundPolicies(p))
	guarded := m.HasIdentities()
	var secured *identity.DataplaneTLS
	if guarded {
		secured = index.Need(m.DataplaneTLS, m.At, index.ObjectKey(p.Object.Ref)) // where it failed, plain text is not what is wanted
	}
	var out []effective.InboundUse
	net := p.Spec.Networking
	for i := range net.Inbound {
		in := &net.Inbound[i]
		address := cmp.Or(in.Address, net.Address)
		if in.State == "Ignored" || in.Port == api.MarkerPort || slices.ContainsFunc(net.Inbound[:i], func(o api.Inbound) bool {
			return o.Port == in.Port && o.State != "Ignored" && cmp.Or(o.Address, net.Address) == address
		}) { // several Services on one port of a pod have an inbound each, and one listener
			continue
		}
		x := &cachedInbound{Inbound: effective.Inbound{
			Name: cmp.Or(in.Name, strconv.FormatUint(uint64(in.Port), 10)), Address: address, Port: in.Port,
			ServiceAddress: cmp.Or(in.ServiceAddress, address), ServicePort: cmp.Or(in.ServicePort, in.Port),
			Protocol: services.InboundProtocol(in), Tags: in.Tags, Ready: in.Ready(), Guarded: guarded, TLS: secured.At(p, address, in.Port),
		}}
		if t := secured.DocumentedAt(p, address, in.Port); t != nil {
			documented := x.Inbound
			documented.TLS = t
			m.setPolicies(p, i, &documented, limits)
			x.Documented = &documented
		}
		m.setPolicies(p, i, &x.Inbound, limits)
		out = append(out, effective.InboundUse{Inbound: &x.Inbound, Cache: &x.cache})
	}
	slices.SortFunc(out, func(a, b effective.InboundUse) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Address, b.Address))
	})
	return out
}

// wholeOf is what holds of a dataplane as a whole; nil for nothing.
func (m Mesh) wholeOf(p *index.Dataplane) *effective.Whole {
	var items []*index.Item
	for x := range m.InboundPolicies(p) {
		if x.OfDataplanes && x.Selector.Selects(&p.Facts) {
			items = append(items, x.Inbound...)
		}
	}
	if len(items) == 0 {
		return nil
	}
	slices.SortFunc(items, index.ByRank)
	held := m.layersOf(items).Fold(m.Kinds)
	if len(held) == 0 {
		return nil
	}
	return &effective.Whole{Policies: held}
}

// setPolicies writes what holds at the inbound in, the document's of that index.
func (m Mesh) setPolicies(p *index.Dataplane, index int, in *effective.Inbound, limits []*index.Policy) {
	m.inboundConf(p, in, limits)
	in.Policies = m.WithCollected(p, index, in.Policies)
	if in.TLS != nil {
		in.Rules = m.RulesAt(p, index)
	}
	for n, c := range in.Callers {
		in.Callers[n].Policies = m.WithCollected(p, index, c.Policies)
	}
}

// inboundConf is what holds at an inbound of all callers, and where certificates prove who
// they are, of some.
func (m Mesh) inboundConf(p *index.Dataplane, in *effective.Inbound, limits []*index.Policy) {
	var items []*index.Item
	for _, x := range limits {
		if x.OfDataplanes || m.Kinds[x.Kind].Authorizer != nil || !x.Selector.Selects(&p.Facts) || !x.Selector.SelectsInbound(&p.Facts, in.Tags) || !x.OnSection(in) {
			continue
		}
		items = append(items, x.Inbound...)
	}
	slices.SortFunc(items, index.ByRank)
	in.Policies = m.layersOf(slices.DeleteFunc(slices.Clone(items), func(it *index.Item) bool { return len(it.Matches) > 0 || it.OfSomeCallers() })).Fold(m.Kinds)
	if in.TLS == nil {
		return
	}
	told := make([]index.CallerItem, len(items))
	for i, it := range items {
		told[i] = m.toldApart(it)
	}
	for _, callers := range index.CallersOf(told) {
		var about []*index.Item
		for i := range told {
			if told[i].About(callers) {
				about = append(about, items[i])
			}
		}
		in.Callers = append(in.Callers, effective.CallerPolicies{CallerMatch: callers, Policies: m.layersOf(about).FoldRules(m.Kinds)})
	}
}

// toldApart is an item with the callers whom it is about.
func (m Mesh) toldApart(it *index.Item) index.CallerItem {
	if it.OfSomeCallers() {
		return index.CallerItem{Item: it, By: m.callersOf(it.Policy.Object.Mesh, &it.Target)}
	}
	return it.WithMatches()
}

// callersOf are those whom a ref in from is about, as a MeshTrafficPermission reads it: workloads by the names that are
// made of their tags, or by the name of their own where nobody else has it (spec/kuma.md 4.5).
func (m Mesh) callersOf(mesh string, ref *api.TargetRef) (out []effective.CallerMatch) {
	var names []string
	for k, v := range ref.Tags {
		names = append(names, spiffe.OfTag(k, v))
	}
	slices.Sort(names)
	also := effective.AlsoNamed(names)
	switch {
	case len(strings.Fields(also)) != len(names): // no certificate has a name with a space
	case ref.Kind == api.KindMeshService || ref.Kind == api.KindMeshServiceSubset:
		if ref.Name != "" {
			out = append(out, effective.CallerMatch{ID: spiffe.Scheme + mesh + "/" + ref.Name, Also: also})
		}
	default:
		for domain := range m.OwnDomains.Values(m.At) {
			out = append(out, effective.CallerMatch{ID: spiffe.Scheme + *domain, Below: true, Also: also})
		}
	}
	sure, _ := m.NamesOf(ref)
	for _, id := range sure {
		out = append(out, effective.CallerMatch{ID: id})
	}
	return out
}

// layersOf are items, weakest first, and overrides over them.
func (m Mesh) layersOf(items []*index.Item) index.Layers {
	all := make(index.Layers, len(m.Kinds))
	for _, it := range items {
		all[it.Policy.Kind] = append(all[it.Policy.Kind], it.ByDefault())
	}
	return all.Overridden(index.OwnOverrides(items))
}
