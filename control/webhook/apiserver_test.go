package webhook_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/hack/chart/webhooks"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/sidecar/inject"
)

// live asks a real API server for namespaces.
type live struct {
	cluster
	t      testing.TB
	server *kubetest.Cluster
}

func (l live) Namespace(_ context.Context, name string) (inject.Namespace, error) {
	_, got := l.server.Send(l.t, http.MethodGet, "/api/v1/namespaces/"+name, nil)
	meta, _ := got["metadata"].(map[string]any)
	given, _ := meta["labels"].(map[string]any)
	ns := inject.Namespace{Name: name, Labels: map[string]string{}}
	for k, v := range given {
		ns.Labels[k], _ = v.(string)
	}
	return ns, nil
}

// bed is an API server that asks weft's webhooks.
type bed struct {
	*testing.T
	*kubetest.Cluster
	hooks *httptest.Server
}

func newBed(t *testing.T, change ...func(*cluster)) *bed {
	t.Helper()
	b, c := &bed{T: t, Cluster: kubetest.Start(t)}, known(t, "")
	for _, f := range change {
		f(&c)
	}
	b.hooks = httptest.NewTLSServer(webhook.Handler(webhook.Options{Catalog: catalog, Admission: chain(), Cluster: live{c, t, b.Cluster}, Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(b.hooks.Close)
	for name, label := range map[string]string{"on": "enabled", "off": "disabled", "bare": "", "yes": "yes", "weft-system": "enabled"} {
		labels := map[string]any{}
		if label != "" {
			labels[inject.LabelInjection] = label
		}
		b.create("/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": name, "labels": labels}})
	}
	for _, d := range crd.All(world.Catalog(), "dev") {
		b.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d)
	}
	r := webhooks.RegistrationOf(injection)
	r.URL, r.CA = b.hooks.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.hooks.Certificate().Raw})
	b.create("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", r.MutatingConfiguration())
	b.create("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", r.ValidatingConfiguration())
	b.until("pods are injected", func() (bool, any) {
		_, got := b.Send(b, http.MethodPost, "/api/v1/namespaces/on/pods?dryRun=All", pod("probe", nil, nil))
		return len(inits(got)) == 2, got["message"]
	})
	b.until("documents are filled in", func() (bool, any) {
		status, got := b.Send(b, http.MethodPost, "/apis/kuma.io/v1alpha1/namespaces/on/meshretries?dryRun=All", document(3))
		return status == http.StatusCreated && strings.Contains(fmt.Sprint(got["metadata"]), "kuma.io/origin:zone"), got["message"]
	})
	b.until("documents are refused", func() (bool, any) {
		status, got := b.Send(b, http.MethodPost, "/apis/kuma.io/v1alpha1/namespaces/on/meshretries?dryRun=All", labelledDocument("k8s.kuma.io/namespace", "other"))
		return status == http.StatusForbidden && strings.Contains(fmt.Sprint(got["message"]), webhook.HookKuma), got["message"]
	})
	return b
}

func (b *bed) create(path string, object any) {
	b.Helper()
	if status, got := b.Send(b, http.MethodPost, path, object); status != http.StatusCreated {
		b.Fatalf("%s: %d %v", path, status, got["message"])
	}
}

func (b *bed) until(what string, cond func() (bool, any)) {
	b.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		holds, said := cond()
		if holds {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("waited until %s: %v", what, said)
		}
	}
}

// pod has one container app, and the account that the plugin ServiceAccount would give it; change adapts metadata and spec.
func pod(name string, labels map[string]any, change func(meta, spec map[string]any)) map[string]any {
	meta := map[string]any{"name": name, "labels": labels}
	spec := map[string]any{"serviceAccountName": "default", "containers": []any{map[string]any{"name": "app", "image": "app"}}}
	if change != nil {
		change(meta, spec)
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
}

func inits(p map[string]any) (names []string) {
	spec, _ := p["spec"].(map[string]any)
	list, _ := spec["initContainers"].([]any)
	for _, c := range list {
		names = append(names, c.(map[string]any)["name"].(string))
	}
	return names
}

func document(retries int) map[string]any {
	mesh := map[string]any{"kind": "Mesh"}
	return map[string]any{"apiVersion": "kuma.io/v1alpha1", "kind": "MeshRetry", "metadata": map[string]any{"name": "r"}, "spec": map[string]any{"targetRef": mesh,
		"to": []any{map[string]any{"targetRef": mesh, "default": map[string]any{"http": map[string]any{"numRetries": retries, "perTryTimeout": "90s"}}}}}}
}

func labelledDocument(key, value string) map[string]any {
	d := document(3)
	d["metadata"].(map[string]any)["labels"] = map[string]any{key: value}
	return d
}

// TestAPIServerInjects: the rows of spec/kubernetes.md 8 that an API server can judge.
func TestAPIServerInjects(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const on = "enabled"
	asks := func(value string) map[string]any { return map[string]any{inject.LabelInjection: value} }
	host := func(_, spec map[string]any) { spec["hostNetwork"] = true }
	user := func(_, spec map[string]any) { spec["securityContext"] = map[string]any{"runAsUser": 5678} }
	app := func(key string, value any) func(meta, spec map[string]any) {
		return func(_, spec map[string]any) { spec["containers"].([]any)[0].(map[string]any)[key] = value }
	}
	annotated := func(key, value string) func(meta, spec map[string]any) {
		return func(meta, _ map[string]any) { meta["annotations"] = map[string]any{key: value} }
	}
	classic := func(meta, spec map[string]any) {
		annotated("weft.io/native-sidecar", "false")(meta, spec)
		spec["initContainers"] = []any{map[string]any{"name": "mig", "image": "mig"}}
	}
	native := "weft-init weft-sidecar"
	for row, c := range map[string]struct {
		namespace string
		pod       map[string]any
		status    int
		inits     string
		says      []string // of the refusal, or of the warnings
	}{
		"1":                 {"on", pod("p1", nil, nil), 201, native, nil},
		"2 bare":            {"bare", pod("p2", nil, nil), 201, "", nil},
		"2 off":             {"off", pod("p2", nil, nil), 201, "", nil},
		"3 enabled in bare": {"bare", pod("p3", asks(on), nil), 201, native, nil},
		"3 true in off":     {"off", pod("p3", asks("true"), nil), 201, native, nil},
		"3 yes in on":       {"on", pod("p3", asks("yes"), nil), 201, native, []string{"yes and no go away"}},
		"5":                 {"on", pod("p5", asks("on"), nil), 422, "", []string{"metadata.labels[kuma.io/sidecar-injection]: "}},
		"6":                 {"bare", pod("p6", nil, annotated(inject.LabelInjection, on)), 201, "", nil},
		"7":                 {"weft-system", pod("p7", asks(on), nil), 201, "", nil},
		"7 kube-system":     {"kube-system", pod("p7", asks(on), nil), 201, "", nil},
		"8":                 {"on", pod("p8", nil, host), 201, "", nil},
		"8 with the label":  {"on", pod("p8b", asks(on), host), 422, "", []string{"spec.hostNetwork: "}},
		"9":                 {"on", pod("p9", nil, app("name", "istio-proxy")), 201, "", []string{"istio-proxy"}},
		"12":                {"on", pod("p12", map[string]any{"openshift.io/build.name": "x"}, nil), 201, "", nil},
		"14":                {"on", pod("p14", map[string]any{"kuma.io/mesh": "nope"}, nil), 422, "", []string{"metadata.labels[kuma.io/mesh]: ", "default"}},
		"15":                {"on", pod("p15", nil, user), 422, "", []string{"spec.securityContext.runAsUser: "}},
		"16": {"on", pod("p16", nil, func(m, s map[string]any) {
			annotated("traffic.kuma.io/exclude-inbound-ports", "80,x")(m, s)
			app("ports", []any{map[string]any{"containerPort": 15001}})(m, s)
		}), 422, "", []string{"containerPort: ", "exclude-inbound-ports]: "}},
		"18":                    {"on", pod("p18", nil, classic), 201, "mig weft-init", nil},
		"24":                    {"on", pod("p24", nil, annotated("kuma.io/sidecar-drain-time", "90s")), 201, native, []string{"terminationGracePeriodSeconds"}},
		"25":                    {"on", pod("p25", nil, annotated("kuma.io/sidecar-env-vars", "WEFT_MESH=x")), 422, "", []string{"WEFT_MESH"}},
		"an unknown annotation": {"on", pod("p0", nil, annotated("kuma.io/sidecar-drain-tim", "9s")), 201, native, []string{"sidecar-drain-time"}},
	} {
		status, got, warnings := b.SendWarned(t, http.MethodPost, "/api/v1/namespaces/"+c.namespace+"/pods", c.pod)
		said := strings.Join(append(warnings, fmt.Sprint(got["message"])), "\n")
		if status != c.status || strings.Join(inits(got), " ") != c.inits {
			t.Errorf("row %s: %d %v %s", row, status, inits(got), said)
		}
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("row %s: %q is not in %s", row, want, said)
			}
		}
	}
	t.Run("10 and 27", func(t *testing.T) { b.again(t) })
	t.Run("51 and 52", func(t *testing.T) { b.documents(t) })
	t.Run("the same text again", func(t *testing.T) { b.unchanged(t) })
	t.Run("a running pod", func(t *testing.T) { b.running(t) })
	t.Run("4", func(t *testing.T) { b.down(t) }) // from here on nobody answers any more
	t.Run("a running pod without weft", func(t *testing.T) { b.runningAlone(t) })
}

// again creates what was injected once more: nothing changes, and a dry run is the same.
func (b *bed) again(t *testing.T) {
	const path = "/api/v1/namespaces/on/pods"
	status, dry := b.Send(t, http.MethodPost, path+"?dryRun=All", pod("p10", nil, nil))
	if status != http.StatusCreated || len(inits(dry)) != 2 {
		t.Fatalf("%d %v", status, dry["message"])
	}
	meta, spec := dry["metadata"].(map[string]any), dry["spec"].(map[string]any)
	fresh := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec,
		"metadata": map[string]any{"name": "p10", "labels": meta["labels"], "annotations": meta["annotations"]}}
	status, stored := b.Send(t, http.MethodPost, path, fresh)
	if status != http.StatusCreated || fmt.Sprint(stored["spec"]) != fmt.Sprint(spec) || !maps.Equal(texts(stored, "annotations"), texts(dry, "annotations")) {
		t.Errorf("%d %v\nwas %v\nis  %v", status, stored["message"], spec, stored["spec"])
	}
}

func texts(object map[string]any, key string) map[string]string {
	out := map[string]string{}
	given, _ := object["metadata"].(map[string]any)[key].(map[string]any)
	for k, v := range given {
		out[k] = fmt.Sprint(v)
	}
	return out
}

// documents are filled in and refused as kubectl shows it: 422 with causes, 403.
func (b *bed) documents(t *testing.T) {
	const path = "/apis/kuma.io/v1alpha1/namespaces/on/"
	status, got := b.Send(t, http.MethodPost, path+"meshretries", document(3))
	if labels := texts(got, "labels"); status != http.StatusCreated || labels["kuma.io/policy-role"] != "consumer" || !strings.Contains(fmt.Sprint(got["spec"]), "perTryTimeout:90s") {
		t.Errorf("%d %v", status, got)
	}
	if status, got := b.Send(t, http.MethodPut, path+"meshretries/r", relabelled(got, "kuma.io/mesh", "other")); status != http.StatusUnprocessableEntity || len(causes(got)) != 1 {
		t.Errorf("another mesh: %d %v", status, got)
	}
	for _, query := range []string{"?dryRun=All", ""} { // a Mesh that comes later in the file, and in a dry run never
		early := labelledDocument("kuma.io/mesh", "later")
		early["metadata"].(map[string]any)["name"] = "early"
		if status, got, warnings := b.SendWarned(t, http.MethodPost, path+"meshretries"+query, early); status != http.StatusCreated || len(warnings) != 1 || !strings.Contains(warnings[0], "there is no mesh later yet") {
			t.Errorf("before its mesh%s: %d %v %v", query, status, got["message"], warnings)
		}
	}
	generated := map[string]any{"apiVersion": "kuma.io/v1alpha1", "kind": "MeshService", "spec": map[string]any{"ports": []any{map[string]any{"port": 80}}},
		"metadata": map[string]any{"name": "s", "labels": map[string]any{"kuma.io/managed-by": "k8s-controller"}}}
	if status, got := b.Send(t, http.MethodPost, path+"meshservices", generated); status != http.StatusForbidden || got["reason"] != "Forbidden" {
		t.Errorf("a generated MeshService: %d %v", status, got)
	}
	wrong := document(3)
	rule := wrong["spec"].(map[string]any)["to"].([]any)[0].(map[string]any)["default"].(map[string]any)["http"].(map[string]any)
	rule["retryOn"] = []any{"Nope", "5xx"}
	rule["retriableMethods"] = nil
	wrong["metadata"].(map[string]any)["name"] = "w"
	wrong["metadata"].(map[string]any)["labels"] = map[string]any{"kuma.io/mesh": "nope"}
	delete(rule, "retriableMethods")
	status, got = b.Send(t, http.MethodPost, path+"meshretries", wrong)
	if status != http.StatusUnprocessableEntity || len(causes(got)) == 0 || got["reason"] != "Invalid" {
		t.Errorf("row 51: %d %v", status, got)
	}
}

func relabelled(object map[string]any, key, value string) map[string]any {
	out := maps.Clone(object)
	meta := maps.Clone(object["metadata"].(map[string]any))
	labels := maps.Clone(meta["labels"].(map[string]any))
	labels[key] = value
	meta["labels"], out["metadata"] = labels, meta
	return out
}

func causes(status map[string]any) []any {
	details, _ := status["details"].(map[string]any)
	list, _ := details["causes"].([]any)
	return slices.Clip(list)
}

// down is row 4 (spec/threats.md T9, F23): those who asked for sidecars wait, all others go on.
func (b *bed) down(t *testing.T) {
	b.hooks.CloseClientConnections()
	b.hooks.Close()
	for name, c := range map[string]struct {
		namespace string
		labels    map[string]any
		status    int
	}{
		"in on":          {"on", nil, http.StatusInternalServerError},
		"disabled in on": {"on", map[string]any{inject.LabelInjection: "disabled"}, http.StatusCreated},
		"in bare":        {"bare", nil, http.StatusCreated},
	} {
		status, got := b.Send(t, http.MethodPost, "/api/v1/namespaces/"+c.namespace+"/pods", pod("p4", c.labels, nil))
		if status != c.status || status >= 400 && !strings.Contains(fmt.Sprint(got["message"]), inject.HookNamespace) {
			t.Errorf("%s: %d %v", name, status, got["message"])
		}
		if name == "disabled in on" { // the name is free for the next
			b.Send(t, http.MethodDelete, "/api/v1/namespaces/on/pods/p4?gracePeriodSeconds=0", nil)
		}
	}
}
