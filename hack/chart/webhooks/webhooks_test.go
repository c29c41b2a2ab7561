package webhooks_test

import (
	"maps"
	"slices"
	"testing"

	registration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/hack/chart/webhooks"
	"github.com/weftmesh/weft/sidecar/inject"
)

var injection = inject.Default("test")

func registered() webhooks.Registration { return webhooks.RegistrationOf(injection) }

// TestWhichPodsAreAskedAbout: the API server asks by the selectors of the hooks exactly
// where inject.Hook, which `weft inject explain` prints, says so.
func TestWhichPodsAreAskedAbout(t *testing.T) {
	t.Parallel()
	values := []string{"", "enabled", "true", "yes", "on", "disabled", "false", "no"}
	hooks := registered().MutatingConfiguration().Webhooks[:2]
	asked := map[string]int{}
	for _, name := range []string{"on", "kube-system", "weft-system"} {
		for _, nsLabel := range values {
			for _, podLabel := range values {
				for _, admission := range []string{"", "disabled"} {
					for _, host := range []bool{false, true} {
						ns := inject.Namespace{Name: name, Labels: map[string]string{"kubernetes.io/metadata.name": name}}
						pod := &corev1.Pod{Spec: corev1.PodSpec{HostNetwork: host}}
						set(&ns.Labels, inject.LabelInjection, nsLabel)
						set(&ns.Labels, inject.LabelAdmission, admission)
						set(&pod.Labels, inject.LabelInjection, podLabel)
						got := ""
						for _, h := range hooks {
							if selects(t, h, ns.Labels, pod) {
								got += h.Name
							}
						}
						if want := inject.Hook(pod, ns, injection); got != want {
							t.Errorf("namespace %v, pod %v, host network %v: asked %q, want %q", ns.Labels, pod.Labels, host, got, want)
						}
						asked[got]++
					}
				}
			}
		}
	}
	if len(asked) != 3 {
		t.Errorf("asked %v: two hooks, and nobody", asked)
	}
}

func set(m *map[string]string, key, value string) {
	if value == "" {
		return
	}
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}

// selects is what an API server makes of a hook; of its condition, which a test with one
// covers, only what it is for.
func selects(t *testing.T, h registration.MutatingWebhook, ns map[string]string, pod *corev1.Pod) bool {
	t.Helper()
	of := func(s *metav1.LabelSelector, on map[string]string) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		return selector.Matches(labels.Set(on))
	}
	_, labelled := pod.Labels[inject.LabelInjection]
	passes := len(h.MatchConditions) == 0 || !pod.Spec.HostNetwork || labelled
	return passes && of(h.NamespaceSelector, ns) && of(h.ObjectSelector, pod.Labels)
}

// TestHooksAreAsSpecified holds the table of spec/kubernetes.md 4.2.
func TestHooksAreAsSpecified(t *testing.T) {
	t.Parallel()
	type row struct {
		operations string
		failure    registration.FailurePolicyType
	}
	got := map[string]row{}
	rows := func(rules []registration.RuleWithOperations) (out string) {
		operations := map[string]bool{}
		for _, r := range rules {
			for _, o := range r.Operations {
				operations[string(o)] = true
			}
			if slices.Contains(r.Operations, registration.Delete) && !slices.Equal(r.Resources, []string{"meshes"}) {
				t.Errorf("asks about the end of %v", r.Resources)
			}
		}
		for _, o := range slices.Sorted(maps.Keys(operations)) {
			out += o + " "
		}
		return out
	}
	r := registered()
	for _, h := range r.MutatingConfiguration().Webhooks {
		got[h.Name] = row{rows(h.Rules), *h.FailurePolicy}
	}
	for _, h := range r.ValidatingConfiguration().Webhooks {
		got[h.Name] = row{rows(h.Rules), *h.FailurePolicy}
	}
	want := map[string]row{
		inject.HookNamespace: {"CREATE ", registration.Fail},
		inject.HookPod:       {"CREATE ", registration.Fail},
		webhook.HookDefaults: {"CREATE UPDATE ", registration.Fail},
		webhook.HookKuma:     {"CREATE DELETE UPDATE ", registration.Fail},
		webhook.HookRoutes:   {"CREATE UPDATE ", registration.Ignore},
	}
	if !maps.Equal(got, want) {
		t.Errorf("hooks %v, want %v", got, want)
	}
	var routes []string
	for _, rule := range r.ValidatingConfiguration().Webhooks[1].Rules {
		routes = append(routes, rule.Resources...)
	}
	if want := []string{"grpcroutes", "httpproxies", "httproutes", "routegroups"}; !slices.Equal(routes, want) {
		t.Errorf("asks about %v, want %v", routes, want)
	}
}
