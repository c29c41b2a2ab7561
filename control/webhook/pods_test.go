package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/weftmesh/weft/control/webhook"
)

// apply is a document after a patch, as an API server applies it.
func apply(t *testing.T, document string, patch []byte) string {
	t.Helper()
	if len(patch) == 0 {
		return document
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	out, err := p.Apply([]byte(document))
	if err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	return string(out)
}

// TestInjectionOnlyAdds: the patch of a pod adds, and replaces probes; fields that weft does
// not know stay; of what it made it changes nothing (rows 1 and 10, laws of 4.4).
func TestInjectionOnlyAdds(t *testing.T) {
	t.Parallel()
	h := handler(t, "")
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"initContainers":[{"name":"mig","image":"i","newer":1}],"containers":[{"name":"app","image":"i","newer":{"a":1},"readinessProbe":{"httpGet":{"port":8080}}}]}}`
	a := ask(t, h, webhook.PathInject, request("on", "Pod", "", pod, ""))
	var operations []struct{ Op, Path string }
	if err := json.Unmarshal(a.Patch, &operations); err != nil || !a.Allowed {
		t.Fatalf("%+v %v", a.Result, err)
	}
	for _, o := range operations {
		if o.Op != "add" && !strings.Contains(o.Path, "Probe") {
			t.Errorf("%s %s", o.Op, o.Path)
		}
	}
	injected := apply(t, pod, a.Patch)
	var got struct {
		Spec struct{ InitContainers, Containers []map[string]any }
	}
	if err := json.Unmarshal([]byte(injected), &got); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, c := range append(got.Spec.InitContainers, got.Spec.Containers...) {
		order = append(order, c["name"].(string))
	}
	if strings.Join(order, " ") != "weft-init weft-sidecar mig app" || got.Spec.InitContainers[2]["newer"] == nil || got.Spec.Containers[0]["newer"] == nil {
		t.Errorf("%v in %s", order, injected)
	}
	if again := ask(t, h, webhook.PathInject, request("on", "Pod", "", injected, "")); !again.Allowed || len(again.Patch) > 0 {
		t.Errorf("again: %s %+v", again.Patch, again.Result)
	}
}

// TestRefusedPods: all that is wrong at once, by field (rows 14 to 16, 25).
func TestRefusedPods(t *testing.T) {
	t.Parallel()
	const pod = `{"metadata":{"name":"p","labels":{"kuma.io/mesh":"nope"},"annotations":{"traffic.kuma.io/exclude-inbound-ports":"80,x"}},"spec":{"securityContext":{"runAsUser":5678},"containers":[{"name":"app","ports":[{"containerPort":15001}]}]}}`
	a := ask(t, handler(t, ""), webhook.PathInject, request("on", "Pod", "", pod, ""))
	if a.Allowed || a.Result.Code != 422 || len(a.Result.Details.Causes) != 4 || len(a.Patch) > 0 {
		t.Fatalf("%v %+v", a.Allowed, a.Result)
	}
	for _, field := range []string{"metadata.labels[kuma.io/mesh]", "metadata.annotations[traffic.kuma.io/exclude-inbound-ports]", "spec.securityContext.runAsUser", "spec.containers[0].ports[0].containerPort"} {
		if !strings.Contains(a.Result.Message, field+": ") {
			t.Errorf("%s is not named: %s", field, a.Result.Message)
		}
	}
}
