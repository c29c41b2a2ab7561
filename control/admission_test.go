package control_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/hack/chart/webhooks"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/sidecar/inject"
)

const (
	registrations = "/apis/admissionregistration.k8s.io/v1/"
	podsOfOn      = "/api/v1/namespaces/on/pods"
)

// admitted is an API server whose webhooks a control plane answers, as `weft serve` puts it
// together: its own authority, its own caBundle.
type admitted struct {
	*testing.T
	*kubetest.Cluster
	cfg   control.Config
	plane *plane
}

// admitting starts both, with the namespaces on, off and bare of spec/kubernetes.md 8.
func admitting(t *testing.T, change func(*control.Config)) *admitted {
	t.Helper()
	return admittingBy(t, nil, change)
}

// admittingBy is admitting with an API server of these flags.
func admittingBy(t *testing.T, flags []string, change func(*control.Config)) *admitted {
	t.Helper()
	a := &admitted{T: t, Cluster: kubetest.Start(t, flags...)}
	for name, label := range map[string]string{"on": "enabled", "off": "disabled", "bare": "", "weft-system": ""} {
		labels := ""
		if label != "" {
			labels = inject.LabelInjection + ": " + label
		}
		create(t, a.Cluster, "/api/v1/namespaces", fmt.Sprintf(`metadata: {name: %q, labels: {%s}}`, name, labels))
	}
	for _, d := range crd.All(world.Catalog(), "dev") {
		if status, got := a.Send(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", d.Metadata.Name, status, got["message"])
		}
	}
	a.cfg = clustered(t, a.URL, a.Cluster)
	a.cfg.Namespace, a.cfg.Webhooks = "weft-system", "127.0.0.1:0"
	if change != nil {
		change(&a.cfg)
	}
	a.plane = start(t, a.cfg)
	a.register()
	a.asked()
	return a
}

// register applies the hooks without an authority, as `weft install` prints them.
func (a *admitted) register() {
	a.Helper()
	r := webhooks.RegistrationOf(inject.Default("dev"))
	r.URL = "https://" + a.plane.Webhooks()
	mutating, validating := r.MutatingConfiguration(), r.ValidatingConfiguration()
	for plural, c := range map[string]interface{ SetResourceVersion(string) }{"mutatingwebhookconfigurations": mutating, "validatingwebhookconfigurations": validating} {
		method, path := http.MethodPost, registrations+plural
		if status, was := a.Send(a, http.MethodGet, path+"/weft", nil); status == http.StatusOK {
			method, path = http.MethodPut, path+"/weft"
			c.SetResourceVersion(was["metadata"].(map[string]any)["resourceVersion"].(string))
		}
		if status, got := a.Send(a, method, path, c); status >= 300 {
			a.Fatalf("%s: %d %v", plural, status, got["message"])
		}
	}
}

// asked waits until pods and documents are admitted by the control plane.
func (a *admitted) asked() {
	a.Helper()
	eventually(a.T, "pods are injected", func() bool {
		_, got := a.Send(a, http.MethodPost, podsOfOn+"?dryRun=All", a.pod("probe", ""))
		return len(containers(got, "initContainers")) == 2
	})
	eventually(a.T, "documents are refused", func() bool {
		status, got := a.Send(a, http.MethodPost, "/apis/kuma.io/v1alpha1/namespaces/on/meshretries?dryRun=All",
			kubetest.Document(a, retryOf("nowhere", `{numRetries: 3}`, "k8s.kuma.io/namespace: other")))
		return status == http.StatusForbidden && strings.Contains(fmt.Sprint(got["message"]), webhook.HookKuma)
	})
}

// pod has one container app, and the account that the plugin ServiceAccount would give it.
func (a *admitted) pod(name, meta string) map[string]any {
	a.Helper()
	return a.podOf(name, meta, `serviceAccountName: default, containers: [{name: app, image: app}]`)
}

func (a *admitted) podOf(name, meta, spec string) map[string]any {
	a.Helper()
	return kubetest.Document(a, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, %s}, spec: {%s}}", name, meta, spec))
}

func retryOf(name, http, labels string) string {
	return fmt.Sprintf(`{apiVersion: kuma.io/v1alpha1, kind: MeshRetry, metadata: {name: %s, labels: {%s}}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: %s}}]}}`, name, labels, http)
}

func containers(pod map[string]any, list string) (names []string) {
	spec, _ := pod["spec"].(map[string]any)
	all, _ := spec[list].([]any)
	for _, c := range all {
		names = append(names, c.(map[string]any)["name"].(string))
	}
	return names
}

// TestAPIServerAsksTheControlPlane: with --webhooks alone pods get sidecars that trust the
// authority of the cluster, which hooks that are applied again trust too, and which a
// second control plane shares.
func TestAPIServerAsksTheControlPlane(t *testing.T) {
	t.Parallel()
	a := admitting(t, nil)
	_, got := a.Send(t, http.MethodPost, podsOfOn, a.pod("first", ""))
	_, secret := a.Send(t, http.MethodGet, "/api/v1/namespaces/weft-system/secrets/weft-ca", nil)
	if authority := authorityOf(t, secret); !strings.Contains(fmt.Sprint(got["spec"]), authority) {
		t.Error("the sidecar of a pod does not trust the authority of the cluster")
	}
	gets := asked(t, a.Cluster, "namespaces", "GET", "")
	for _, name := range []string{"second", "third"} {
		if status, got := a.Send(t, http.MethodPost, podsOfOn, a.pod(name, "")); status != http.StatusCreated {
			t.Fatal(got["message"])
		}
	}
	if n := asked(t, a.Cluster, "namespaces", "GET", "") - gets; n != 0 {
		t.Errorf("for two pods of a namespace that is known the API server was asked for it %d times", n)
	}
	if text := a.plane.want(http.StatusOK, http.MethodGet, "/metrics", ""); !strings.Contains(text, `weft_admission_reviews_total{verdict="allowed",webhook="inject"} `) {
		t.Error("the questions are not counted")
	}
	second := a.cfg
	second.DataDir = t.TempDir()
	other := start(t, second)
	a.register()
	a.asked()
	if _, again := a.Send(t, http.MethodGet, "/api/v1/namespaces/weft-system/secrets/weft-ca", nil); authorityOf(t, again) != authorityOf(t, secret) {
		t.Error("the authority was made again")
	}
	a.plane = other
	a.register()
	a.asked()
}

// authorityOf are the certificates of the Secret of the authority.
func authorityOf(t *testing.T, secret map[string]any) string {
	t.Helper()
	texts, _ := secret["data"].(map[string]any)
	text, _ := texts["ca.pem"].(string)
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(out) == 0 {
		t.Fatalf("no authority in %v", secret["message"])
	}
	return string(out)
}
