package policies

import "github.com/weftmesh/weft/api"

// Role is the role of a policy (spec/kuma.md 4.2).
func Role(o *api.Object) string {
	s, ok := o.Spec.(*Spec)
	if !ok {
		return api.RoleSystem
	}
	return s.RoleIn(o.Home())
}

// RoleIn is the role of a policy of namespace home.
func (s *Spec) RoleIn(home api.Home) string { return api.RoleOf(home, s.Top(), s.targets()) }

// ValidateObject checks the refs, and refuses a namespaced policy that has two
// roles at once, or that targets a route of another namespace.
func (s *Spec) ValidateObject(o *api.Object, c *api.Catalog, at api.Path) error {
	var f Findings
	s.refs(&f, c, at)
	role, home, top := Role(o), o.Home(), s.Top()
	if o.IsDefault() && s.HasOverride() {
		f.Breaks(at, "a policy that came with the mesh is the weakest of all, so it has no override; write a policy of your own")
	}
	switch {
	case role == api.RoleSystem:
	case top.IsRoute() && top.Elsewhere(home.Namespace):
		f.Breaks(at.Field("targetRef"), "the route lies in namespace %s and the policy in %s; put the policy beside the route", top.HomeNamespace(), home.Namespace)
	case len(s.To) > 0 && len(s.From)+len(s.Rules) > 0:
		f.Breaks(at.Field("to"), "a policy of a namespace has either to or an inbound side; write two policies")
	default:
		f.Include(api.MixedRoles(at.Field("to"), home, top, s.targets()))
	}
	if s.Kind.ByProducers != nil && role == api.RoleProducer {
		f.Include(s.Kind.ByProducers(s, at))
	}
	if s.Kind.Warns != nil && !o.Shadow() {
		f.Include(s.Kind.Warns(s, at))
	}
	return f.Err()
}

// targets are the targetRefs of to.
func (s *Spec) targets() []api.TargetRef {
	out := make([]api.TargetRef, len(s.To))
	for i := range s.To {
		out[i] = s.To[i].TargetRef
	}
	return out
}
