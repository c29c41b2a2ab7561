package install_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/hack/chart/webhooks"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/sidecar/inject"
)

// corpus are values that say all that there is to say, a line each as --set takes it.
// hack/kube-chart renders them too.
func corpus(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func given(t *testing.T, sets ...string) install.UserValues {
	t.Helper()
	var words []install.SetFlags
	for _, s := range sets {
		if s != "" {
			words = append(words, install.SetFlags{Words: s})
		}
	}
	v, err := install.Read(nil, words...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func rendered(t *testing.T, sets ...string) (all []map[string]any) {
	t.Helper()
	manifests, err := install.Render(install.Release{Namespace: "weft-system", Version: "1.2.3", Service: "weft"}, given(t, sets...))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		all = append(all, kubetest.Documents(t, m.Text)...)
	}
	return all
}

func one(t *testing.T, all []map[string]any, kind, name string) map[string]any {
	t.Helper()
	for _, o := range all {
		if o["kind"] == kind && o["metadata"].(map[string]any)["name"] == name {
			return o
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return nil
}

func plain(t *testing.T, v any) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The webhooks of the chart are those that answer, and injection reads what was said,
// whatever the values are.
func TestChartSaysWhatGoSays(t *testing.T) {
	t.Parallel()
	for _, set := range corpus(t) {
		all := rendered(t, set)
		v := given(t, set)
		c := v.Injection("1.2.3", "weft-system")
		r := webhooks.RegistrationOf(c)
		if v.CertManager {
			r.Certificate = install.Name
		}
		for kind, want := range map[string]any{"MutatingWebhookConfiguration": r.MutatingConfiguration(), "ValidatingWebhookConfiguration": r.ValidatingConfiguration()} {
			if diff := cmp.Diff(plain(t, want), one(t, all, kind, webhook.ConfigurationName)); diff != "" {
				t.Errorf("%q: %s (-Go +chart):\n%s", set, kind, diff)
			}
		}
		text := one(t, all, "ConfigMap", "weft-injection")["data"].(map[string]any)["injection.yaml"].(string)
		got, err := inject.Default("1.2.3").Values("injection.yaml", []byte(text))
		if diff := cmp.Diff(plain(t, c), plain(t, got)); err != nil || diff != "" {
			t.Errorf("%q: injection %v (-Go +chart):\n%s", set, err, diff)
		}
	}
}

// What the values of the control plane itself do.
func TestValuesOfTheControlPlane(t *testing.T) {
	t.Parallel()
	deployment := func(sets ...string) (spec, pod map[string]any) {
		spec = one(t, rendered(t, sets...), "Deployment", install.Name)["spec"].(map[string]any)
		return spec, spec["template"].(map[string]any)["spec"].(map[string]any)
	}
	for set, want := range map[string]string{"": "1", "replicas=2": "2", "ha=true": "3", "ha=true,replicas=5": "5", "autoscaled=true": "<nil>", "autoscaled=true,ha=true": "<nil>"} {
		spec, _ := deployment(set)
		if got := fmt.Sprint(spec["replicas"]); got != want {
			t.Errorf("%q: %s control planes, want %s", set, got, want)
		}
	}
	_, pod := deployment("ha=true,nodeSelector.disk=ssd,tolerations[0].key=a,priorityClassName=high")
	if len(pod["topologySpreadConstraints"].([]any)) != 2 || pod["priorityClassName"] != "high" || pod["nodeSelector"].(map[string]any)["disk"] != "ssd" || len(pod["tolerations"].([]any)) != 1 {
		t.Errorf("%v", pod)
	}
	spec, pod := deployment(`extraArgs={--skip-default-policies,--log-level=debug},imagePullPolicy=Always,imagePullSecrets[0].name=registry,podLabels.team=mesh,podAnnotations.example\.org/owner=a`)
	meta, container := spec["template"].(map[string]any)["metadata"].(map[string]any), pod["containers"].([]any)[0].(map[string]any)
	args := container["args"].([]any)
	if args[len(args)-2] != "--skip-default-policies" || args[len(args)-1] != "--log-level=debug" { // the last one wins
		t.Errorf("flags %v", args)
	}
	labels, annotations := meta["labels"].(map[string]any), meta["annotations"].(map[string]any)
	if labels["team"] != "mesh" || labels["app.kubernetes.io/name"] != "weft" || annotations["example.org/owner"] != "a" || annotations["weft.io/injection"] == nil ||
		container["imagePullPolicy"] != "Always" || fmt.Sprint(pod["imagePullSecrets"]) != "[map[name:registry]]" {
		t.Errorf("%v %v %v", meta, container["imagePullPolicy"], pod["imagePullSecrets"])
	}
	all := rendered(t, "ha=true,secrets.namespaces={edge}")
	one(t, all, "PodDisruptionBudget", install.Name)
	if r := one(t, all, "Role", install.RoleSecrets); r["metadata"].(map[string]any)["namespace"] != "edge" {
		t.Errorf("%v", r)
	}
	one(t, rendered(t, "writeDataplanes=true"), "ClusterRole", install.RoleDataplanes)
	for _, role := range []string{install.RoleDataplanes, install.RoleTrafficMetrics} {
		if slices.ContainsFunc(rendered(t), func(o map[string]any) bool { return o["metadata"].(map[string]any)["name"] == role }) {
			t.Errorf("a role %s that nobody asked for", role)
		}
	}
	series := rendered(t, "trafficMetrics=true,serviceMonitor=true")
	if rules := fmt.Sprint(one(t, series, "ClusterRole", install.RoleTrafficMetrics)["rules"]); rules != "[map[nonResourceURLs:[/metrics/traffic] verbs:[get]]]" {
		t.Errorf("metrics of traffic are for who has %s", rules)
	}
	_, pod = deployment("trafficMetrics=true")
	if args := fmt.Sprint(pod["containers"].([]any)[0].(map[string]any)["args"]); !strings.Contains(args, " --traffic-metrics ") {
		t.Errorf("flags %s", args)
	}
	var paths []any
	for _, e := range one(t, series, "ServiceMonitor", install.Name)["spec"].(map[string]any)["endpoints"].([]any) {
		paths = append(paths, e.(map[string]any)["path"])
	}
	if fmt.Sprint(paths) != "[/metrics /metrics/traffic]" {
		t.Errorf("Prometheus reads %v", paths)
	}
	for _, kind := range []string{"PodDisruptionBudget", "NetworkPolicy", "Certificate", "ServiceMonitor"} {
		if slices.ContainsFunc(rendered(t), func(o map[string]any) bool { return o["kind"] == kind }) {
			t.Errorf("a %s that nobody asked for", kind)
		}
	}
}

// The control plane has no right over all of something, and none on Secrets but in its own
// namespace and where a value says so (spec/kubernetes.md 6.7).
func TestRightsAreFew(t *testing.T) {
	t.Parallel()
	for _, r := range append(install.UserRoles(), install.ClusterRole(), install.SystemRole(), install.SecretsRole(), install.DataplanesRole(), install.TrafficMetricsRole()) {
		for _, rule := range r.Rules {
			words := slices.Concat(rule.Resources, rule.Verbs, []string{rule.Group})
			if slices.Contains(words, "*") || len(rule.Resources)+len(rule.Paths) == 0 || len(rule.Verbs) == 0 || rule.Why == "" {
				t.Errorf("%s: %+v", r.Name, rule)
			}
			for _, forbidden := range []string{"pods/exec", "pods/attach", "impersonate", "escalate", "bind"} {
				if slices.Contains(words, forbidden) {
					t.Errorf("%s has %s", r.Name, forbidden)
				}
			}
		}
	}
	for _, rule := range install.ClusterRole().Rules {
		if slices.Contains(rule.Resources, "secrets") || slices.Contains(rule.Resources, "pods") && slices.Contains(rule.Verbs, "delete") {
			t.Errorf("%+v", rule)
		}
	}
	for _, r := range install.UserRoles() {
		for _, rule := range r.Rules {
			for _, kind := range []string{"meshes", "meshexternalservices", "meshmultizoneservices", "hostnamegenerators"} {
				if slices.Contains(rule.Resources, kind) {
					t.Errorf("%s may touch %s, which are the cluster's administrators'", r.Name, kind)
				}
			}
		}
	}
}

// TestRightsAreInOrder: the resources and verbs of a rule stand in their order, so that who compares the rights of
// two releases sees what is new.
func TestRightsAreInOrder(t *testing.T) {
	t.Parallel()
	for _, r := range append(install.UserRoles(), install.ClusterRole(), install.SystemRole(), install.SecretsRole(), install.DataplanesRole(), install.TrafficMetricsRole()) {
		for _, rule := range r.Rules {
			if !slices.IsSorted(rule.Resources) || !slices.IsSorted(rule.Verbs) {
				t.Errorf("%s: %v %v, for %s", r.Name, rule.Verbs, rule.Resources, rule.Why)
			}
		}
	}
}

// Mistakes in values come all at once, with paths, places and the nearest name.
func TestMistakesInValues(t *testing.T) {
	t.Parallel()
	file := install.File{Name: "values.yaml", Text: []byte(`replicas: 0
image: "a b"
resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}
sidecar:
  drainTime: -1s
watchNamespaces: [shop, Shop, shop]
ignoredServiceSelectorLabels: [ok, "a,b"]
`)}
	said := func(err error) (out []string) {
		for _, v := range api.Violations(err) {
			out = append(out, v.Error())
		}
		return out
	}
	_, err := install.Read([]install.File{file})
	want := []string{
		`values.yaml:1:11: replicas: 0 control planes do not fit; write a number from 1 to 99, or autoscaled: true`,
		`values.yaml:2:8: image: "a b" is no name of an image; write such as registry.example/weft:1.2.3`,
		`values.yaml:3:12: resources: the request memory: 2Gi is over its limit 1Gi; raise the limit`,
		`values.yaml:6:25: watchNamespaces[1]: "Shop" is no name of a namespace; use small letters, digits and -`,
		`values.yaml:6:31: watchNamespaces[2]: "shop" stands there twice; remove one`,
		`values.yaml:7:36: ignoredServiceSelectorLabels[1]: "a,b" is no name of a label; write such as rollouts-pod-template-hash or example.org/color`,
		`values.yaml:5:14: sidecar.drainTime: is negative; write 0s or more`,
	}
	if diff := cmp.Diff(want, said(err)); diff != "" {
		t.Error(diff)
	}
	for set, want := range map[string]string{
		"replicass=3":                                "replicass: unknown field; did you mean replicas?",
		"sidecar.drainTim=3s":                        "sidecar.drainTim: unknown field; did you mean drainTime?",
		"logLevel=inf":                               `logLevel: "inf" is unknown; did you mean info?`,
		"traces=collector:4317":                      `traces: "collector:4317" is no address of a collector; write such as http://`,
		"interception.mode=cni":                      "interception.mode: interception by a CNI plugin is not there yet; write init or none",
		"webhooks.from={10.0.0.1}":                   `webhooks.from[0]: "10.0.0.1" is no prefix`,
		"webhooks.clientCA=x":                        "webhooks.clientCA: it holds no certificate in PEM",
		"extraArgs={skip-default-policies}":          `extraArgs[0]: "skip-default-policies" is no flag of weft serve`,
		"imagePullPolicy=Sometimes":                  `imagePullPolicy: "Sometimes" is unknown`,
		"imagePullSecrets[0].name=A B":               `imagePullSecrets[0].name: "A B" is no name of a Secret`,
		"podLabels.app\\.kubernetes\\.io/name=other": "the chart sets it itself",
		"podLabels.team=a b":                         "is no label",
		"podAnnotations.weft\\.io/injection=x":       "the chart sets it itself",
		"ha=maybe":                                   `ha: "maybe" is not what belongs here; write true or false`,
		"injection.failurePolicy":                    `--set "injection.failurePolicy" is not understood`,
	} {
		if _, err := install.Read(nil, install.SetFlags{Words: set}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
}

// TestClientAuthority: the control plane reads whom API servers are to be known by.
func TestClientAuthority(t *testing.T) {
	t.Parallel()
	pem := kubetest.Certificates(t, "apiserver")["ca.crt"]
	text, err := json.Marshal(map[string]any{"webhooks": map[string]any{"clientCA": pem}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := install.Read([]install.File{{Name: "values.yaml", Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := install.Render(install.Release{Namespace: "weft-system", Version: "1.2.3", Service: "weft"}, v)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for _, m := range manifests {
		all = append(all, kubetest.Documents(t, m.Text)...)
	}
	held := one(t, all, "ConfigMap", "weft-injection")["data"].(map[string]any)["webhook-clients.pem"]
	if held != pem || !strings.Contains(fmt.Sprint(one(t, all, "Deployment", "weft-control-plane")), "--webhooks-client-ca=/etc/weft/webhook-clients.pem") {
		t.Errorf("%q", held)
	}
}

// Later values win; maps are merged and lists replaced, as Helm does.
func TestValuesAreLaid(t *testing.T) {
	t.Parallel()
	v, err := install.Read([]install.File{
		{Name: "a", Text: []byte("replicas: 2\nsidecar: {resources: {limits: {cpu: '2'}}}\nsystemNamespaces: [a, b]\n")},
		{Name: "b", Text: []byte("replicas: 3\nsystemNamespaces: [c]\n")},
	}, install.SetFlags{Words: "replicas=4,dns.enabled=true"}, install.SetFlags{Words: "resources.limits.cpu=2", Texts: true})
	if err != nil {
		t.Fatal(err)
	}
	if v.Replicas != 4 || !v.DNS.Enabled || v.Resources.Limits["cpu"] != "2" || !slices.Equal(v.SystemNamespaces, []string{"c"}) {
		t.Errorf("%+v", v.Values)
	}
	if l := v.Sidecar.Resources.Limits; l["cpu"] != "2" || l["memory"] != "512Mi" {
		t.Errorf("limits %v", l)
	}
}
