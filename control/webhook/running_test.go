package webhook_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/hack/chart/webhooks"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/sidecar/inject"
)

// sample is a value of each annotation that injection reads.
var sample = map[string]string{
	"kuma.io/gateway": "builtin", "kuma.io/sidecar-env-vars": "A=1", "kuma.io/sidecar-proxy-concurrency": "2", "kuma.io/sidecar-drain-time": "9s",
	"kuma.io/envoy-log-level": "debug", "kuma.io/envoy-component-log-level": "upstream:debug", "kuma.io/init-first": "true", "kuma.io/wait-for-dataplane-ready": "false",
	"kuma.io/application-probe-proxy-port": "9001", "kuma.io/builtin-dns": "true", "kuma.io/builtin-dns-port": "15054", "kuma.io/transparent-proxying-ip-family-mode": "ipv4",
	"traffic.kuma.io/exclude-inbound-ports": "80", "traffic.kuma.io/exclude-outbound-ports": "80", "traffic.kuma.io/exclude-outbound-ports-for-uids": "80:7",
	"traffic.kuma.io/exclude-inbound-ips": "10.0.0.0/8", "traffic.kuma.io/exclude-outbound-ips": "10.0.0.0/8", "traffic.kuma.io/drop-invalid-packets": "true",
	"kuma.io/reachable-backends": "refs: [{kind: MeshService, name: web}]", "kuma.io/direct-access-services": "web", "kuma.io/transparent-proxying-reachable-services": "web",
	"weft.io/sidecar-resources": `{"limits":{"memory":"1Gi"}}`, "weft.io/native-sidecar": "false", "weft.io/interception-mode": "none", "weft.io/edge-listeners": "80/http",
	"k8s.kuma.io/spire-support": "true",
}

// TestWhatIsReadOfARunningPod: every annotation by which the Dataplane of a pod follows is one that the hook
// asks about, so that none changes what a running pod is without an answer; the others are not asked about.
func TestWhatIsReadOfARunningPod(t *testing.T) {
	t.Parallel()
	const doc = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"on","uid":"u","annotations":{%s}},"status":{"podIP":"10.0.0.1","phase":"Running"},
		"spec":{"initContainers":[{"name":"weft-init","image":"i","args":["--outbound-port=15001"]},{"name":"weft-sidecar","image":"i"}],"containers":[{"name":"app","image":"i"}]}}`
	// dataplane is what follows from the pod; edge listeners count at a built-in gateway.
	dataplane := func(values map[string]string) (spec any, notes int) {
		var annotations []string
		for name, value := range values {
			annotations = append(annotations, fmt.Sprintf("%q:%q", name, value))
		}
		objects, found := world.Decode("", fmt.Appendf(nil, doc, strings.Join(annotations, ",")))
		if len(objects) != 1 {
			t.Fatal(found)
		}
		plane, said := pods.Dataplane(objects[0], pods.Around{})
		return plane.Spec, len(said)
	}
	asked := map[string]bool{}
	for _, name := range inject.Running() {
		asked[name] = true
	}
	for _, a := range inject.Annotations() {
		if !a.Read() {
			continue
		}
		value, there := sample[a.Name]
		if !there {
			t.Errorf("%s has no sample; add one", a.Name)
			continue
		}
		live := false
		for _, around := range []map[string]string{{}, {"kuma.io/gateway": "builtin"}} {
			without, quiet := dataplane(around)
			with := map[string]string{a.Name: value}
			for k, v := range around {
				with[k] = v
			}
			got, noted := dataplane(with)
			live = live || !reflect.DeepEqual(without, got) || quiet != noted
		}
		if live != asked[a.Name] {
			t.Errorf("%s: the Dataplane follows it: %t; the hook asks about it: %t", a.Name, live, asked[a.Name])
		}
	}
	hooks := webhooks.RegistrationOf(injection).ValidatingConfiguration().Webhooks
	for name := range asked {
		if condition := hooks[0].MatchConditions[1].Expression; !strings.Contains(condition, "'"+name+"'") {
			t.Errorf("%s is not in %s", name, condition)
		}
	}
}

// TestRunningPods: what a pod is stays as it was created; what else is read has the values that a new pod may have.
func TestRunningPods(t *testing.T) {
	t.Parallel()
	h := handler(t, "")
	const doc = `{"metadata":{"name":"p","annotations":{%s}},"spec":{"initContainers":[{"name":"%s"}],"containers":[{"name":"app"}]}}`
	for name, c := range map[string]struct {
		container, before, after, want string
	}{
		"an edge":                {"weft-sidecar", ``, `"kuma.io/gateway":"builtin","weft.io/edge-listeners":"8443/tls"`, "metadata.annotations[kuma.io/gateway]"},
		"another listener":       {"weft-sidecar", `"weft.io/edge-listeners":"80/http"`, `"weft.io/edge-listeners":"80/http,8443/tls"`, "metadata.annotations[weft.io/edge-listeners]"},
		"no gateway any more":    {"weft-sidecar", `"kuma.io/gateway":"enabled"`, ``, "metadata.annotations[kuma.io/gateway]"},
		"reaches less":           {"weft-sidecar", ``, `"kuma.io/reachable-backends":"refs: [{kind: MeshService, name: web}]"`, ""},
		"reaches what is no ref": {"weft-sidecar", `"kuma.io/reachable-backends":"refs: []"`, `"kuma.io/reachable-backends":"refs: 7"`, "metadata.annotations[kuma.io/reachable-backends]"},
		"everything again":       {"weft-sidecar", `"kuma.io/reachable-backends":"refs: 7"`, ``, ""},
		"wrong as before":        {"weft-sidecar", `"kuma.io/reachable-backends":"refs: 7"`, `"kuma.io/reachable-backends":"refs: 7","a":"b"`, ""},
		"without a sidecar":      {"other", ``, `"kuma.io/gateway":"builtin"`, ""},
	} {
		a := ask(t, h, webhook.PathKuma, request("on", api.KindPod, "", fmt.Sprintf(doc, c.after, c.container), fmt.Sprintf(doc, c.before, c.container)))
		switch {
		case c.want == "" && !a.Allowed:
			t.Errorf("%s: refused: %s", name, a.Result.Message)
		case c.want != "" && (a.Allowed || a.Result.Code != http.StatusUnprocessableEntity || !strings.Contains(a.Result.Message, c.want)):
			t.Errorf("%s: %v %+v", name, a.Allowed, a.Result)
		}
	}
}

// running is what a real API server does with updates of a pod that has a sidecar.
func (b *bed) running(t *testing.T) {
	const path = "/api/v1/namespaces/on/pods/runs"
	b.create("/api/v1/namespaces/on/pods", pod("runs", nil, nil))
	annotate := func(path, key, value string) (int, map[string]any) {
		return b.Merge(t, path, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	}
	b.until("updates are asked about", func() (bool, any) {
		status, got := annotate(path+"?dryRun=All", "kuma.io/gateway", "builtin")
		return status == http.StatusUnprocessableEntity && strings.Contains(fmt.Sprint(got["message"]), webhook.HookKuma), got["message"]
	})
	for name, value := range map[string]string{"kuma.io/gateway": "builtin", "weft.io/edge-listeners": "8443/tls", "kuma.io/reachable-backends": "refs: 7"} {
		if status, got := annotate(path, name, value); status != http.StatusUnprocessableEntity || len(causes(got)) != 1 || !strings.Contains(fmt.Sprint(got["message"]), name) {
			t.Errorf("%s: %d %v", name, status, got["message"])
		}
	}
	for name, value := range map[string]string{"team": "a", "kuma.io/reachable-backends": "refs: [{kind: MeshService, name: web}]"} {
		if status, got := annotate(path, name, value); status != http.StatusOK {
			t.Errorf("%s: %d %v", name, status, got["message"])
		}
	}
}

// runningAlone: without weft nobody waits for it but who changes what weft reads; the kubelet never does.
func (b *bed) runningAlone(t *testing.T) {
	const path = "/api/v1/namespaces/on/pods/runs"
	patch := func(path string, object map[string]any) int {
		status, _ := b.Merge(t, path, object)
		return status
	}
	annotation := func(key, value string) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}
	}
	for name, c := range map[string]struct {
		path   string
		object map[string]any
		want   int
	}{
		"another annotation": {path, annotation("team", "b"), http.StatusOK},
		"a label":            {path, map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "b"}}}, http.StatusOK},
		"the status":         {path + "/status", map[string]any{"status": map[string]any{"phase": "Running", "podIP": "10.0.0.9"}}, http.StatusOK},
		"what weft reads":    {path, annotation("weft.io/edge-listeners", "8443/tls"), http.StatusInternalServerError},
	} {
		if got := patch(c.path, c.object); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
