// Package webhooks makes what the chart registers with the API server, so that it asks what
// control/webhook answers.
package webhooks

import (
	"slices"
	"strings"

	registration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/sidecar/inject"
)

// Registration is what an API server has to know to ask.
type Registration struct {
	// Namespace and Service are where the control plane answers, at Port, under the account
	// Account of that namespace.
	Namespace, Service, Account string
	// URL is asked instead of the Service where it is not empty: https://HOST:PORT.
	URL string
	// CA are the authorities in PEM; empty where weft, or cert-manager, writes them later.
	CA []byte
	// Certificate is the name of a Certificate of cert-manager, which then writes the
	// authority; empty leaves that to weft.
	Certificate string
	// FailurePolicy is that of injection: Fail or Ignore.
	FailurePolicy string
	// SystemNamespaces are those whose pods get no sidecar.
	SystemNamespaces []string
}

// RegistrationOf is that of a control plane with the values of injection, installed in the
// first of the system namespaces.
func RegistrationOf(c inject.Config) Registration {
	return Registration{Namespace: c.SystemNamespaces[0], Service: webhook.ServiceName, Account: webhook.ServiceName,
		FailurePolicy: c.Injection.FailurePolicy, SystemNamespaces: c.SystemNamespaces}
}

// MutatingConfiguration holds the hooks that inject and the one that fills in defaults.
func (r Registration) MutatingConfiguration() *registration.MutatingWebhookConfiguration {
	var hooks []registration.MutatingWebhook
	for _, h := range []hook{r.ofNamespaces(), r.ofPods(), r.defaults()} {
		hooks = append(hooks, registration.MutatingWebhook{
			Name: h.name, ClientConfig: h.client, Rules: h.rules, NamespaceSelector: h.namespaces, ObjectSelector: h.objects, MatchConditions: h.conditions,
			FailurePolicy: new(h.failure), ReinvocationPolicy: new(h.again), MatchPolicy: new(registration.Equivalent),
			SideEffects: new(registration.SideEffectClassNone), TimeoutSeconds: new(int32(webhook.Seconds)), AdmissionReviewVersions: []string{"v1"},
		})
	}
	return &registration.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: registration.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: r.meta(), Webhooks: hooks,
	}
}

// ValidatingConfiguration holds the hooks that refuse.
func (r Registration) ValidatingConfiguration() *registration.ValidatingWebhookConfiguration {
	var hooks []registration.ValidatingWebhook
	for _, h := range []hook{r.kuma(), r.routes()} {
		hooks = append(hooks, registration.ValidatingWebhook{
			Name: h.name, ClientConfig: h.client, Rules: h.rules, NamespaceSelector: h.namespaces, ObjectSelector: h.objects, MatchConditions: h.conditions,
			FailurePolicy: new(h.failure), MatchPolicy: new(registration.Equivalent),
			SideEffects: new(registration.SideEffectClassNone), TimeoutSeconds: new(int32(webhook.Seconds)), AdmissionReviewVersions: []string{"v1"},
		})
	}
	return &registration.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: registration.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: r.meta(), Webhooks: hooks,
	}
}

func (r Registration) meta() metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: webhook.ConfigurationName, Labels: map[string]string{"app.kubernetes.io/name": "weft", "app.kubernetes.io/part-of": "weft"}}
	if r.Certificate != "" {
		m.Annotations = map[string]string{webhook.AnnotationInjectCA: r.Namespace + "/" + r.Certificate}
	}
	return m
}

// hook is what both kinds of webhooks have in common.
type hook struct {
	name                string
	client              registration.WebhookClientConfig
	rules               []registration.RuleWithOperations
	namespaces, objects *metav1.LabelSelector
	conditions          []registration.MatchCondition
	failure             registration.FailurePolicyType
	again               registration.ReinvocationPolicyType
}

// hook is one that namespaces can opt out of (the emergency exit of spec/kubernetes.md 4.2).
func (r Registration) hook(name, path string, failure registration.FailurePolicyType, rules ...registration.RuleWithOperations) hook {
	client := registration.WebhookClientConfig{CABundle: r.CA}
	if r.URL != "" {
		client.URL = new(strings.TrimSuffix(r.URL, "/") + path)
	} else {
		client.Service = &registration.ServiceReference{Namespace: r.Namespace, Name: r.Service, Path: new(path), Port: new(int32(webhook.Port))}
	}
	return hook{name: name, client: client, rules: rules, failure: failure, again: registration.NeverReinvocationPolicy,
		namespaces: selecting(not(inject.LabelAdmission, "disabled")), objects: &metav1.LabelSelector{}}
}

// injecting is a hook for new pods.
func (r Registration) injecting(name string, namespaces ...metav1.LabelSelectorRequirement) hook {
	h := r.hook(name, webhook.PathInject, registration.FailurePolicyType(r.FailurePolicy), rule("", "v1", []string{"pods"}, registration.Create))
	excluded := append(slices.Clone(inject.KubernetesNamespaces), r.SystemNamespaces...)
	h.namespaces = selecting(append(namespaces,
		not(inject.LabelAdmission, "disabled"),
		not("kubernetes.io/metadata.name", excluded...),
		metav1.LabelSelectorRequirement{Key: labelRev, Operator: metav1.LabelSelectorOpDoesNotExist})...)
	h.again = registration.IfNeededReinvocationPolicy
	return h
}

// ofNamespaces asks for the pods of namespaces with sidecars.
func (r Registration) ofNamespaces() hook {
	h := r.injecting(inject.HookNamespace, metav1.LabelSelectorRequirement{Key: inject.LabelInjection, Operator: metav1.LabelSelectorOpIn, Values: []string{"enabled", "true"}})
	h.objects = selecting(not(inject.LabelInjection, "disabled", "false", "no"))
	h.conditions = []registration.MatchCondition{{Name: "not-host-network", Expression: "!has(object.spec.hostNetwork) || !object.spec.hostNetwork || has(object.metadata.labels) && '" + inject.LabelInjection + "' in object.metadata.labels"}}
	return h
}

// ofPods asks for pods that are labelled themselves, elsewhere.
func (r Registration) ofPods() hook {
	h := r.injecting(inject.HookPod, not(inject.LabelInjection, "enabled", "true"))
	h.objects = selecting(
		metav1.LabelSelectorRequirement{Key: inject.LabelInjection, Operator: metav1.LabelSelectorOpExists},
		not(inject.LabelInjection, "disabled", "false", "no"))
	return h
}

func (r Registration) defaults() hook {
	h := r.hook(webhook.HookDefaults, webhook.PathDefaults, registration.Fail, rule(kumaGroup, "v1alpha1", kumaPlurals(), registration.Create, registration.Update))
	h.conditions = r.notOurselves()
	return h
}

// kuma asks about the end of a Mesh too, and of nothing else: a webhook that is away
// never holds up the end of a namespace. It asks about pods that run as well, for what
// their annotations say becomes part of a Dataplane.
func (r Registration) kuma() hook {
	h := r.hook(webhook.HookKuma, webhook.PathKuma, registration.Fail,
		rule(kumaGroup, "v1alpha1", kumaPlurals(), registration.Create, registration.Update),
		rule(kumaGroup, "v1alpha1", []string{"meshes"}, registration.Delete),
		rule("", "v1", []string{"pods"}, registration.Update))
	h.conditions = append(r.notOurselves(), runningPods())
	return h
}

// routes lets through what it cannot check in time: routes are not weft's alone, and are
// checked again where they are read.
func (r Registration) routes() hook {
	var rules []registration.RuleWithOperations
	for _, t := range world.Catalog().Routes() {
		if !isKuma(t) {
			rules = append(rules, rule(t.Group, t.Version, []string{t.Plural}, registration.Create, registration.Update))
		}
	}
	return r.hook(webhook.HookRoutes, webhook.PathRoutes, registration.Ignore, rules...)
}

// runningPods is met by what is no pod, and by a change of those annotations of a pod that are read
// while it runs: no other update of a pod waits for weft, for none gives the pod what it was not
// created with. What the kubelet writes is pods/status, which no rule names.
func runningPods() registration.MatchCondition {
	of := func(object string) string {
		return "(has(" + object + ".metadata.annotations) && a in " + object + ".metadata.annotations ? " + object + ".metadata.annotations[a] : '')"
	}
	return registration.MatchCondition{Name: "annotations-read-while-it-runs",
		Expression: "request.resource.resource != 'pods' || ['" + strings.Join(inject.Running(), "', '") + "'].exists(a, " + of("object") + " != " + of("oldObject") + ")"}
}

// notOurselves leaves out what the control plane writes.
func (r Registration) notOurselves() []registration.MatchCondition {
	return []registration.MatchCondition{{Name: "not-the-control-plane", Expression: "request.userInfo.username != '" + webhook.AccountName(r.Namespace, r.Account) + "'"}}
}

const kumaGroup = "kuma.io"

// labelRev is reserved for a second control plane in the cluster.
const labelRev = "weft.io/rev"

// kumaPlurals are the resources of kuma.io that weft defines.
func kumaPlurals() []string {
	var out []string
	for _, t := range world.Catalog().Types() {
		if isKuma(t) {
			out = append(out, t.Plural)
		}
	}
	slices.Sort(out)
	return out
}

// isKuma reports whether a type is a custom resource of kuma.io.
func isKuma(t api.Type) bool { return t.Custom != nil && (t.Group == "" || t.Group == kumaGroup) }

func rule(group, version string, resources []string, operations ...registration.OperationType) registration.RuleWithOperations {
	return registration.RuleWithOperations{Operations: operations, Rule: registration.Rule{
		APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources, Scope: new(registration.AllScopes)}}
}

func selecting(all ...metav1.LabelSelectorRequirement) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: all}
}

// not wants a label to have none of the values; without the label it holds.
func not(key string, values ...string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: values}
}
