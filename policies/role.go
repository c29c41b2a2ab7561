package policies

import "github.com/weftmesh/weft/api"

// The roles of a policy (spec/kuma.md 4.2).
const (
	RoleSystem        = "system"
	RoleProducer      = "producer"
	RoleConsumer      = "consumer"
	RoleWorkloadOwner = "workload-owner"
)

// systemNamespace is where the policies of the mesh's operators live.
const systemNamespace = "kuma-system"

// Role is the role of a policy, which follows from where it lives and what it
// targets. A policy on a route of its own namespace goes where the route goes, as
// a producer's does.
func Role(o *api.Object) string {
	s, ok := o.Spec.(*Spec)
	home := o.HomeNamespace()
	switch {
	case !ok || home == "" || home == systemNamespace:
		return RoleSystem
	case s.Top().IsRoute():
		return RoleProducer
	case len(s.To) == 0:
		return RoleWorkloadOwner
	case s.produces(home) == len(s.To):
		return RoleProducer
	}
	return RoleConsumer
}

// ValidateObject refuses a namespaced policy that has two roles at once, or that
// targets a route of another namespace.
func (s *Spec) ValidateObject(o *api.Object, at api.Path) error {
	var f Findings
	role, home, top := Role(o), o.HomeNamespace(), s.Top()
	switch {
	case role == RoleSystem:
	case top.IsRoute() && elsewhere(top, home):
		f.Breaks(at.Field("targetRef"), "the route lies in namespace %s and the policy in %s; put the policy beside the route", namespace(top), home)
	case len(s.To) > 0 && len(s.From)+len(s.Rules) > 0:
		f.Breaks(at.Field("to"), "a policy of a namespace has either to or an inbound side; write two policies")
	case role == RoleConsumer && s.produces(home) > 0:
		f.Breaks(at.Field("to"), "%d of %d items are for the callers of a service or route of namespace %s, the others for calls of its workloads; "+
			"write two policies", s.produces(home), len(s.To), home)
	}
	return f.Err()
}

// produces counts the items that are for callers of namespace home.
func (s *Spec) produces(home string) int {
	n := 0
	for i := range s.To {
		if producer(s.To[i].TargetRef, home) {
			n++
		}
	}
	return n
}

// producer reports whether the ref names one service or route of namespace home.
func producer(ref api.TargetRef, home string) bool {
	if ref.Kind != api.KindMeshService && !ref.IsRoute() {
		return false
	}
	return (ref.Name != "" || ref.Labels[api.LabelDisplayName] != "") && !elsewhere(ref, home)
}

// elsewhere reports whether the ref names another namespace than home.
func elsewhere(ref api.TargetRef, home string) bool {
	n := namespace(ref)
	return n != "" && n != home
}

func namespace(ref api.TargetRef) string {
	if ref.Namespace != "" {
		return ref.Namespace
	}
	return ref.Labels[api.LabelNamespace]
}
