package resolve

import (
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
)

// policy is one policy object, read once.
type policy struct {
	object   *api.Object
	kind     int // index in the model's kinds
	topRoute *api.TargetRef
	selector *matcher.Selector // of everything where topRoute decides
	section  string            // of a top-level Dataplane ref: one inbound
	own      rank              // of the policy as a whole
	items    []*item           // of to
	inbound  []*item           // of from and rules
}

// item is what a policy says about one target.
type item struct {
	policy *policy
	field  api.Path
	target api.TargetRef
	layer  merge.LayerName
	rank   rank
	origin *api.Origin
	leaves []merge.Leaf
	// matches are the callers that an item of rules is about; none is all.
	matches []policies.ClientMatch
	// overrides are what it says over everything that is nearer to the route.
	overrides []merge.Leaf
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

func newPolicy(o *api.Object, spec *policies.Spec, kind int) *policy {
	p := &policy{object: o, kind: kind}
	top := spec.Top()
	role := policies.Role(o)
	if top.IsRoute() {
		p.topRoute = &top
		p.selector = matcher.SelectorOf(api.TargetRef{Kind: api.KindMesh}, matcher.Local{})
	} else {
		p.selector = matcher.SelectorOf(top, localOf(o, role))
		if top.Kind == api.KindDataplane {
			p.section = top.SectionName
		}
	}
	p.own = rankOf(o, top, role)
	add := func(list *[]*item, field string, i int, target api.TargetRef, leaves, overrides []merge.Leaf) {
		at := api.Path("spec").Field(field).Index(i)
		it := &item{policy: p, field: at, target: target, layer: layerOf(target), rank: p.own.of(target, i), leaves: leaves, overrides: overrides,
			origin: &api.Origin{Ref: o.Ref, Field: at}}
		*list = append(*list, it)
	}
	for i := range spec.To {
		add(&p.items, "to", i, spec.To[i].TargetRef, spec.To[i].Leaves(), spec.To[i].Overrides())
	}
	for i := range spec.From {
		add(&p.inbound, "from", i, spec.From[i].TargetRef, spec.From[i].Leaves(), spec.From[i].Overrides())
	}
	for i := range spec.Rules {
		add(&p.inbound, "rules", i, api.TargetRef{Kind: api.KindMesh}, spec.Rules[i].Leaves(), spec.Rules[i].Overrides())
		p.inbound[len(p.inbound)-1].matches = spec.Rules[i].Matches
	}
	return p
}

// routeRef is the ref by which the item attaches to routes, if it does.
func (it *item) routeRef() *api.TargetRef {
	if it.policy.topRoute != nil {
		return it.policy.topRoute
	}
	if it.target.IsRoute() {
		return &it.target
	}
	return nil
}

// selects reports whether the item, which attaches to no route, is about s.
func (it *item) selects(s *matcher.Service) bool {
	return matcher.Destination(it.target, it.policy.object.Home(), s)
}

// attaches reports whether the item attaches to the route object r for the
// destination s.
func (it *item) attaches(r *routeObject, s *matcher.Service) bool {
	ref := it.routeRef()
	if ref == nil || !matcher.Route(*ref, it.policy.object.Home(), &r.facts) {
		return false
	}
	return it.policy.topRoute == nil || it.selects(s)
}

// sections are the names by which a sectionName may mean the rule o of r: its
// name, <to>.<rule>, or <rule> where there is one to (spec/contract.md 9).
func (r *routeObject) sections(o *api.Origin) []string {
	var out []string
	add := func(name string) {
		if !r.ruleNames[name] { // what is a name means nothing else
			out = append(out, name)
		}
	}
	if o.Rule != nil {
		rule := strconv.Itoa(*o.Rule)
		if o.To == nil || len(r.opinion.Entries) == 1 {
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
