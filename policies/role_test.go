package policies_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/timeout"
)

func TestRoleFollowsFromNamespaceAndTargets(t *testing.T) {
	t.Parallel()
	to := func(refs ...api.TargetRef) *policies.Spec {
		s := &policies.Spec{Kind: timeout.Kind}
		for _, r := range refs {
			s.To = append(s.To, policies.Item{TargetRef: r})
		}
		return s
	}
	mesh, own := api.TargetRef{Kind: "Mesh"}, api.TargetRef{Kind: "MeshService", Name: "web"}
	foreign := api.TargetRef{Kind: "MeshService", Name: "web", Namespace: "other"}
	labelled := api.TargetRef{Kind: "MeshService", Labels: map[string]string{api.LabelDisplayName: "web"}}
	onRoute := to(mesh)
	onRoute.TargetRef = &api.TargetRef{Kind: "MeshHTTPRoute", Name: "r"}
	for name, c := range map[string]struct {
		namespace string
		system    bool
		spec      *policies.Spec
		want      string
	}{
		"outside of namespaces": {"", false, to(own), "system"},
		"operators' namespace":  {"ops", true, to(own), "system"},
		"no to":                 {"shop", false, to(), "workload-owner"},
		"own service":           {"shop", false, to(own), "producer"},
		"own service by label":  {"shop", false, to(labelled), "producer"},
		"foreign service":       {"shop", false, to(foreign), "consumer"},
		"mesh":                  {"shop", false, to(mesh), "consumer"},
		"own route on top":      {"shop", false, onRoute, "producer"},
	} {
		o := &api.Object{Ref: api.Ref{Namespace: c.namespace}, InSystemNamespace: c.system, Spec: c.spec}
		if got := policies.Role(o); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
