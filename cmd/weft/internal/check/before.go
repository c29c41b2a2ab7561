package check

import (
	"context"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/cmd/weft/internal/cluster"
	"github.com/weftmesh/weft/control/webhook"
)

const groupBefore = "pre-installation"

// preparations are the checks before weft is installed.
func preparations() []Check {
	return []Check{
		{Group: groupBefore, Code: "ForeignCustomResources", Says: "no custom resources of somebody else would be replaced", run: replaces,
			Hint: "another mesh has kinds of these names; remove it first, or install with --skip-crds and use its definitions"},
		{Group: groupBefore, Code: "MayInstall", Says: "you may create what weft needs", run: mayInstall,
			Hint: "let an administrator of the cluster install weft"},
		{Group: groupBefore, Code: "OtherInjectors", Says: "no other mesh injects sidecars", run: others,
			Hint: "a pod gets the sidecar of one mesh: label each namespace for one of them only"},
		gatewayAPI(groupBefore),
	}
}

func replaces(ctx context.Context, q *question) finding {
	_, foreign, _, err := own(ctx, q)
	if err != nil {
		return unknown(err)
	}
	if len(foreign) > 0 {
		return says(Error, "without %s, so not weft's: %s", crd.BundleVersion, strings.Join(foreign, ", "))
	}
	return fine()
}

// access is a right to ask about.
type access struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`
	Verb      string `json:"verb"`
	Namespace string `json:"namespace,omitempty"`
}

// allowed asks whether the user has a right.
func allowed(ctx context.Context, q *question, a access) (bool, error) {
	var answer struct{ Status struct{ Allowed bool } }
	err := q.Cluster.Post(ctx, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{"resourceAttributes": a}}, &answer)
	return answer.Status.Allowed, err
}

func mayInstall(ctx context.Context, q *question) finding {
	var not []string
	for _, a := range []access{
		{"", "namespaces", "create", ""}, {"apiextensions.k8s.io", "customresourcedefinitions", "create", ""},
		{"rbac.authorization.k8s.io", "clusterroles", "create", ""}, {"rbac.authorization.k8s.io", "clusterrolebindings", "create", ""},
		{"rbac.authorization.k8s.io", "roles", "create", q.Namespace}, {"rbac.authorization.k8s.io", "rolebindings", "create", q.Namespace},
		{"admissionregistration.k8s.io", "mutatingwebhookconfigurations", "create", ""}, {"admissionregistration.k8s.io", "validatingwebhookconfigurations", "create", ""},
		{"", "serviceaccounts", "create", q.Namespace}, {"", "configmaps", "create", q.Namespace}, {"", "services", "create", q.Namespace}, {"apps", "deployments", "create", q.Namespace},
	} {
		ok, err := allowed(ctx, q, a)
		if err != nil {
			return unknown(err)
		}
		if !ok {
			not = append(not, a.Resource)
		}
	}
	if len(not) > 0 {
		return says(Error, "you may not create %s", strings.Join(not, ", "))
	}
	return fine()
}

// configuration is a webhook configuration as the cluster has it.
type configuration struct {
	Metadata struct{ Name string }
	Webhooks []asked
}

// asked is one webhook of a configuration.
type asked struct {
	Name         string
	ClientConfig struct {
		CABundle []byte
		Service  *struct{ Namespace, Name string }
	}
	FailurePolicy string
	Rules         []struct {
		APIGroups, Resources, Operations []string
	}
}

const (
	mutating   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	validating = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
)

// others are the hooks for new pods of meshes that are known by their names.
func others(ctx context.Context, q *question) finding {
	all, err := cluster.List[configuration](ctx, q.Cluster, mutating)
	if err != nil {
		return unknown(err)
	}
	var found []string
	for _, c := range all {
		known := slices.ContainsFunc([]string{"istio", "linkerd", "kuma", "consul", "osm"}, func(mesh string) bool { return strings.Contains(c.Metadata.Name, mesh) })
		if c.Metadata.Name == webhook.ConfigurationName || !known {
			continue
		}
		for _, h := range c.Webhooks {
			if slices.ContainsFunc(h.Rules, func(r struct{ APIGroups, Resources, Operations []string }) bool {
				return slices.Contains(r.Resources, "pods")
			}) {
				found = append(found, c.Metadata.Name)
				break
			}
		}
	}
	if len(found) > 0 {
		return says(Warning, "%s", strings.Join(found, ", "))
	}
	return fine()
}
