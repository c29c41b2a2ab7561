package index

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// AuthorizesAt reports whether a policy about who may call has a say at a dataplane to which a route leads:
// one of its own namespace, or any where a system namespace wrote the policy.
func (p *Policy) AuthorizesAt(plane *Dataplane) bool {
	home := p.Object.Home()
	return home.System || plane.Object.HomeNamespace() == home.Namespace
}

// OnSection reports whether the policy is about that inbound: a top-level
// Dataplane ref may name one by sectionName.
func (p *Policy) OnSection(in *effective.Inbound) bool {
	return p.Section == "" || p.Section == in.Name || p.Section == strconv.FormatUint(uint64(in.Port), 10)
}

// Policy is one policy object, read once.
type Policy struct {
	Object   *api.Object
	Kind     int // index in the model's kinds
	TopRoute *api.TargetRef
	Selector *matcher.Selector // of everything where topRoute decides
	Section  string            // of a top-level Dataplane ref: one inbound
	Own      Rank              // of the policy as a whole
	Items    []*Item           // of to
	Inbound  []*Item           // of from and rules
	// OfDataplanes says that Inbound is what holds of the selected dataplanes as wholes, and at no inbound.
	OfDataplanes bool
}

// Item is what a policy says about one target.
type Item struct {
	Policy *Policy
	Field  api.Path
	Target api.TargetRef
	Layer  merge.LayerName
	Rank   Rank
	Origin *api.Origin
	Leaves []merge.Leaf
	// Matches are the callers that an item of rules is about; none is all.
	Matches []policies.ClientMatch
	// Overrides are what it says over everything that is nearer to the route.
	Overrides []merge.Leaf
}

// layerOf labels an item that attaches to no route by how near its target is;
// what attaches to a route is labelled where it does (tableBuilder.policies).
func layerOf(t api.TargetRef) merge.LayerName {
	switch {
	case t.Kind == api.KindMesh:
		return merge.Mesh
	case t.SectionName != "":
		return merge.Port
	}
	return merge.Service
}

func newPolicy(o *api.Object, spec *policies.Spec, kind int) *Policy {
	p := &Policy{Object: o, Kind: kind}
	top := spec.Top()
	role := policies.Role(o)
	if top.IsRoute() {
		p.TopRoute = &top
		p.Selector = matcher.SelectorOf(api.TargetRef{Kind: api.KindMesh}, matcher.Local{})
	} else {
		p.Selector = matcher.SelectorOf(top, localOf(o, role))
		if top.Kind == api.KindDataplane {
			p.Section = top.SectionName
		}
	}
	p.Own = rankOf(o, top, role)
	add := func(list *[]*Item, field string, i int, target api.TargetRef, leaves, overrides []merge.Leaf) {
		at := api.Path("spec").Field(field).Index(i)
		it := &Item{Policy: p, Field: at, Target: target, Layer: layerOf(target), Rank: p.Own.Of(target, i), Leaves: leaves, Overrides: overrides,
			Origin: &api.Origin{Ref: o.Ref, Field: at}}
		*list = append(*list, it)
	}
	if w := spec.Whole(); w != nil {
		p.addWhole(w, spec.Kind)
	}
	for i := range spec.To {
		add(&p.Items, "to", i, spec.To[i].TargetRef, spec.To[i].Leaves(), spec.To[i].Overrides())
	}
	for i := range spec.From {
		add(&p.Inbound, "from", i, spec.From[i].TargetRef, spec.From[i].Leaves(), spec.From[i].Overrides())
	}
	for i := range spec.Rules {
		add(&p.Inbound, "rules", i, api.TargetRef{Kind: api.KindMesh}, spec.Rules[i].Leaves(), spec.Rules[i].Overrides())
		p.Inbound[len(p.Inbound)-1].Matches = spec.Rules[i].Matches
	}
	return p
}

// addWhole adds what a document in the single form says: one item, which holds for all that the
// dataplanes call and, unless it is about requests of a route, for all that comes in at them; or, of a
// kind of dataplanes, for those alone.
func (p *Policy) addWhole(w *policies.Item, kind *policies.Kind) {
	it := &Item{Policy: p, Field: policies.Whole, Target: w.TargetRef, Layer: layerOf(w.TargetRef), Rank: p.Own.Of(w.TargetRef, 0),
		Leaves: w.Leaves(), Overrides: w.Overrides(), Origin: &api.Origin{Ref: p.Object.Ref, Field: policies.Whole}}
	if kind.OfDataplanes {
		p.Inbound, p.OfDataplanes = []*Item{it}, true
		return
	}
	p.Items = []*Item{it}
	if p.TopRoute == nil {
		p.Inbound = p.Items
	}
}

// RouteRef is the ref by which the item attaches to routes, if it does.
func (it *Item) RouteRef() *api.TargetRef {
	if it.Policy.TopRoute != nil {
		return it.Policy.TopRoute
	}
	if it.Target.IsRoute() {
		return &it.Target
	}
	return nil
}

// Selects reports whether the item, which attaches to no route, is about s.
func (it *Item) Selects(s *matcher.Service) bool {
	return matcher.Destination(it.Target, it.Policy.Object.Home(), s)
}

// Attaches reports whether the item attaches to the route object r for the
// destination s.
func (it *Item) Attaches(r *Route, s *matcher.Service) bool {
	ref := it.RouteRef()
	if ref == nil || !matcher.Route(*ref, it.Policy.Object.Home(), &r.facts) {
		return false
	}
	return it.Policy.TopRoute == nil || it.Selects(s)
}

// Sections are the names by which a sectionName may mean the rule o of r: its
// name, <to>.<rule>, or <rule> where there is one to (spec/contract.md 9).
func (r *Route) Sections(o *api.Origin) []string {
	var out []string
	add := func(name string) {
		if !r.RuleNames[name] { // what is a name means nothing else
			out = append(out, name)
		}
	}
	if o.Rule != nil {
		rule := strconv.Itoa(*o.Rule)
		if o.To == nil || len(r.Parsed.Entries) == 1 {
			add(rule)
		}
		if o.To != nil {
			add(strconv.Itoa(*o.To) + "." + rule)
		}
	}
	if o.RuleName != "" {
		out = append(out, o.RuleName)
	}
	return out
}

// Collector is the MeshOpenTelemetryBackend that a ref means: of several the oldest, then the first
// by name; nil for none.
func (m Mesh) Collector(ref *policies.CollectorRef) *api.Object {
	var found *api.Object
	for o := range m.Objects(api.KindMeshOpenTelemetryBackend, ref.Labels) {
		if ref.Name != "" && o.Name != ref.Name && o.DisplayName() != ref.Name {
			continue
		}
		if found == nil || cmp.Or(o.Created.Compare(found.Created), cmp.Compare(o.DisplayName(), found.DisplayName()), o.Ref.Compare(found.Ref)) < 0 {
			found = o
		}
	}
	return found
}

// reached is what the ref leads to, as far as Envoy can send there by itself.
func (m Mesh) reached(ref *policies.CollectorRef) *policies.CollectorAddress {
	o := m.Collector(ref)
	if o == nil {
		return nil
	}
	spec, ok := o.Spec.(*api.MeshOpenTelemetryBackend)
	if !ok || Unreached(spec) != "" {
		return nil
	}
	address, port := spec.Address()
	return &policies.CollectorAddress{Address: address, Port: port}
}

// NamingCollector are the policies of the mesh of which a ref leads to the backend, sorted.
func (m Mesh) NamingCollector(backend api.Ref) []api.Ref {
	found := map[api.Ref]bool{}
	for _, k := range m.Kinds {
		if !k.NamesCollectors() {
			continue
		}
		for p := range m.PoliciesByKind.Values(m.At, k.Name) {
			for _, ref := range p.Object.Spec.(*policies.Spec).CollectorRefs {
				if o := m.Collector(ref); o != nil && o.Ref == backend {
					found[p.Object.Ref] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), api.Ref.Compare)
}
