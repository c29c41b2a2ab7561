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
// targets. The error is a *multierror.Error of *api.Violation where the policy
// has two roles at once, or targets a route of another namespace.
//
// A policy on a route of its own namespace goes where the route goes, as a
// producer's does.
func Role(o *api.Object) (string, error) {
	s, ok := o.Spec.(*Spec)
	home := o.HomeNamespace()
	if !ok || home == "" || home == systemNamespace {
		return RoleSystem, nil
	}
	var f Findings
	top := s.Top()
	if top.IsRoute() {
		if elsewhere(top, home) {
			f.Breaks("spec.targetRef.namespace", "the route lies in namespace %s and the policy in %s; "+
				"put the policy beside the route", namespace(top), home)
		}
		return RoleProducer, f.Err()
	}
	if len(s.To) == 0 {
		return RoleWorkloadOwner, nil
	}
	if len(s.From) > 0 || len(s.Rules) > 0 {
		f.Breaks("spec.to", "a namespaced policy has either to or an inbound side; write two policies")
	}
	produces := 0
	for i := range s.To {
		if producer(s.To[i].TargetRef, home) {
			produces++
		}
	}
	switch produces {
	case 0:
		return RoleConsumer, f.Err()
	case len(s.To):
		return RoleProducer, f.Err()
	}
	f.Breaks("spec.to", "%d of %d items configure callers of this namespace's own services, the others configure calls of its workloads; "+
		"write two policies", produces, len(s.To))
	return RoleConsumer, f.Err()
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
