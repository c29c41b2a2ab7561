package policies

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// The kinds that a targetRef may have beside routes, by where it stands
// (spec/kuma.md 3 and 4.10). MeshGateway is known so that a policy of it is stored and reported.
var (
	topKinds = []string{
		api.KindMesh, api.KindDataplane, api.KindMeshSubset, api.KindMeshService, api.KindMeshServiceSubset, api.KindMeshGateway,
	}
	toKinds         = []string{api.KindMesh, api.KindMeshService, api.KindMeshExternalService, api.KindMeshMultiZoneService}
	underRouteKinds = []string{api.KindMesh, api.KindMeshService, api.KindMeshExternalService, api.KindMeshMultiZoneService}
	fromKinds       = []string{api.KindMesh}
)

// Validate reports every mistake of the document, not the first; those of its
// refs are ValidateObject's.
func (s *Spec) Validate(at api.Path) error {
	var f Findings
	if s.Kind.Single {
		s.confsOf(&f, at, s.Default, s.Override)
	} else {
		s.form(&f, at)
	}
	for i := range s.To {
		s.confsOf(&f, at.Field("to").Index(i), s.To[i].Default, s.To[i].Override)
	}
	for i := range s.From {
		s.confsOf(&f, at.Field("from").Index(i), s.From[i].Default, s.From[i].Override)
	}
	for i := range s.Rules {
		s.rule(&f, at.Field("rules").Index(i), &s.Rules[i])
	}
	if s.Kind.Check != nil {
		f.Include(s.Kind.Check(s, at))
	}
	return f.Err()
}

// refs checks every targetRef, and what may stand beside one that names a route.
func (s *Spec) refs(f *Findings, c *api.Catalog, at api.Path) {
	routes := s.Kind.routes(c)
	isRoute := func(ref api.TargetRef) bool {
		return slices.ContainsFunc(routes, func(t api.Type) bool { return t.Name == ref.Kind })
	}
	inbound := len(s.From)+len(s.Rules) > 0
	to := api.RefRules{Kinds: toKinds, Routes: routes, Catalog: c}
	if s.TargetRef != nil {
		f.Include(api.ValidateTargetRef(at.Field("targetRef"), *s.TargetRef, api.RefRules{Kinds: s.Kind.tops(), Routes: routes, Catalog: c, Top: true, InboundSection: inbound}))
	}
	if isRoute(s.Top()) && s.Kind.Single {
		s.routeOnly(f, at.Field("default"), s.whole.Leaves())
		s.routeOnly(f, at.Field("override"), s.whole.Overrides())
	} else if isRoute(s.Top()) {
		to = api.RefRules{Kinds: underRouteKinds, Catalog: c}
		s.noInbound(f, at)
	}
	for i := range s.To {
		item, at := &s.To[i], at.Field("to").Index(i)
		f.Include(api.ValidateTargetRef(at.Field("targetRef"), item.TargetRef, to))
		if isRoute(s.Top()) || isRoute(item.TargetRef) {
			s.routeOnly(f, at.Field("default"), item.Leaves())
			s.routeOnly(f, at.Field("override"), item.Overrides())
		}
	}
	for i := range s.From {
		f.Include(api.ValidateTargetRef(at.Field("from").Index(i).Field("targetRef"), s.From[i].TargetRef, api.RefRules{Kinds: s.Kind.froms(), Catalog: c}))
	}
}

// tops are the kinds of refs at the top of a document of the kind.
func (k *Kind) tops() []string {
	if k.TopKinds != nil {
		return k.TopKinds
	}
	return topKinds
}

// froms are the kinds of refs in from.
func (k *Kind) froms() []string {
	if k.FromKinds != nil {
		return k.FromKinds
	}
	return fromKinds
}

// routes are the types of routes that the kind may target.
func (k *Kind) routes(c *api.Catalog) []api.Type {
	if k.Inbound && !k.RulesOnRoutes || k.Single && !k.SingleOnRoutes {
		return nil
	}
	return c.Routes()
}

// rulesOnRoutes is why an item of from cannot stand beside a ref to a route.
const rulesOnRoutes = "what is attached to a route is about whoever sends its requests; write rules, which say who may"

// noInbound refuses what a policy of a route cannot have.
func (s *Spec) noInbound(f *Findings, at api.Path) {
	if s.Kind.RulesOnRoutes {
		if len(s.From) > 0 {
			f.Breaks(at.Field("from"), rulesOnRoutes)
		}
		return
	}
	const why = "a route has no inbound side; write to, or target dataplanes in place of the route"
	if len(s.From) > 0 {
		f.Breaks(at.Field("from"), why)
	}
	if len(s.Rules) > 0 {
		f.Breaks(at.Field("rules"), why)
	}
}

// form checks which of to, from and rules are there, and whether they go together.
func (s *Spec) form(f *Findings, at api.Path) {
	if len(s.To)+len(s.From)+len(s.Rules) == 0 {
		s.nothing(f, at)
	}
	if len(s.Rules) > 0 && len(s.From) > 0 && !s.Kind.FromBesideRules {
		f.Breaks(at.Field("from"), "cannot stand beside rules, which replace it; move its items to rules")
	}
	if len(s.Rules) > 0 && len(s.To) > 0 && s.Kind.RulesAlone {
		f.Breaks(at.Field("to"), "cannot stand beside rules; write two policies, one with to and one with rules")
	}
}

// nothing refuses a policy without items: at the lists that it has, or as a whole
// where it has none.
func (s *Spec) nothing(f *Findings, at api.Path) {
	written := false
	for _, l := range []struct {
		name string
		here bool
	}{{"to", s.To != nil}, {"from", s.From != nil}, {"rules", s.Rules != nil}} {
		if l.here {
			f.Breaks(at.Field(l.name), "is empty, so the policy says nothing; add an item")
			written = true
		}
	}
	if !written {
		f.Breaks(at, "says nothing; add %s", s.Kind.lists())
	}
}

// lists names what a policy of the kind may hold.
func (k *Kind) lists() string {
	if k.Single {
		return "default"
	}
	var lists []string
	if !k.Inbound {
		lists = append(lists, "to")
	}
	if k.From {
		lists = append(lists, "from")
	}
	if k.Rules {
		lists = append(lists, "rules")
	}
	return strings.Join(lists, " or ")
}

// things are what fields of the other scopes configure, for people.
var things = map[Scope]string{
	OnCluster:  "the connections to a service, which all its routes share (an Envoy cluster)",
	OnListener: "a whole listener, which all routes share",
}

// routeOnly refuses fields that no route has.
func (s *Spec) routeOnly(f *Findings, at api.Path, leaves []merge.Leaf) {
	for _, leaf := range leaves {
		if l := s.Kind.Schema.Leaves[leaf.Field]; l.Scope != OnRoute {
			f.Breaks(at.Field(l.Path), "configures %s, so it cannot be set for one route; "+
				"move it to a policy that targets Mesh or a service", things[l.Scope])
		}
	}
}

// rule checks one entry of rules.
func (s *Spec) rule(f *Findings, at api.Path, r *Rule) {
	s.confsOf(f, at, r.Default, r.Override)
	if s.Kind.NoMatches {
		if len(r.Matches) > 0 {
			f.Breaks(at.Field("matches"), "a rule of %s holds for all callers by itself; remove matches", s.Kind.Name)
		}
		return
	}
	byCaller := false
	for i, m := range r.Matches {
		at := at.Field("matches").Index(i)
		if m.SpiffeID == nil && m.SNI == nil {
			f.Breaks(at, "matches nothing; set spiffeID or sni")
		}
		if m.SpiffeID != nil {
			byCaller = true
			m.SpiffeID.CheckCaller(f, at.Field("spiffeID"))
		}
		if m.SNI != nil {
			m.SNI.CheckSNI(f, at.Field("sni"))
		}
	}
	if !byCaller {
		return
	}
	s.anyCaller(f, at.Field("default"), r.Leaves())
	s.anyCaller(f, at.Field("override"), r.Overrides())
}

// anyCaller refuses fields that hold for all callers alike.
func (s *Spec) anyCaller(f *Findings, at api.Path, leaves []merge.Leaf) {
	for _, leaf := range leaves {
		if l := s.Kind.Schema.Leaves[leaf.Field]; l.Scope != OnRoute {
			f.Breaks(at.Field(l.Path), "configures %s, so it cannot depend on the caller; "+
				"move it to a rule without spiffeID", things[l.Scope])
		}
	}
}
