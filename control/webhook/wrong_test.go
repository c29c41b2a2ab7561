package webhook_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/sidecar/inject"
)

// wrong are values that annotations must not have, each with what is said of it.
var wrong = map[string][][2]string{
	"kuma.io/gateway":                                 {{"enable", "did you mean enabled?"}},
	"kuma.io/sidecar-env-vars":                        {{"WEFT_MESH=x", "WEFT_MESH"}, {"novalue", "novalue"}},
	"kuma.io/sidecar-proxy-concurrency":               {{"many", "from 0 to 1024"}, {"1025", "from 0 to 1024"}, {"-1", "from 0 to 1024"}},
	"kuma.io/sidecar-drain-time":                      {{"30", "with a unit"}, {"-1s", "negative"}},
	"kuma.io/envoy-log-level":                         {{"loud", "unknown value"}},
	"kuma.io/envoy-component-log-level":               {{"router", "router"}, {"router:loud", "loud"}},
	"kuma.io/init-first":                              {{"maybe", "write true or false"}},
	"kuma.io/wait-for-dataplane-ready":                {{"maybe", "write true or false"}},
	"kuma.io/application-probe-proxy-port":            {{"x", "from 0 to 65535"}, {"15001", "a port of the sidecar"}},
	"kuma.io/builtin-dns":                             {{"maybe", "write true or false"}},
	"kuma.io/builtin-dns-port":                        {{"0", "from 1 to 65535"}},
	"kuma.io/transparent-proxying-ip-family-mode":     {{"ipv5", "unknown value"}},
	"traffic.kuma.io/exclude-inbound-ports":           {{"80,x", `"x" is no port`}, {"8010-8000", "8010-8000"}, {"70000", "70000"}},
	"traffic.kuma.io/exclude-outbound-ports":          {{"0", "write numbers and ranges"}},
	"traffic.kuma.io/exclude-outbound-ports-for-uids": {{"tcp:80:*", "*"}, {"sctp:80:1", "sctp"}},
	"traffic.kuma.io/exclude-inbound-ips":             {{"10.0.0.0/33", "10.0.0.0/33"}},
	"traffic.kuma.io/exclude-outbound-ips":            {{"example.org", "example.org"}},
	"traffic.kuma.io/drop-invalid-packets":            {{"maybe", "write true or false"}},
	"kuma.io/reachable-backends":                      {{"refs: [{kind: MeshService, nam: web}]", "did you mean name?"}, {"refs: [", "not valid YAML"}},
	"kuma.io/direct-access-services":                  {{"a,*", "stands for all"}, {"a b", "a b"}},
	"kuma.io/transparent-proxying-reachable-services": {{"a b", "a b"}},
	"weft.io/sidecar-resources":                       {{"{", ""}, {`{"limits":{"cpu":"x"}}`, "limits.cpu"}, {`{"limit":{}}`, "did you mean limits?"}},
	"weft.io/native-sidecar":                          {{"maybe", "write true or false"}},
	"weft.io/interception-mode":                       {{"cni", "write init or none"}, {"never", "unknown value"}},
	"weft.io/edge-listeners":                          {{"80", "80"}, {"80/smtp", "smtp"}},
	"k8s.kuma.io/spire-support":                       {{"maybe", "write true or false"}},
}

// annotated is a pod with one annotation.
func annotated(t *testing.T, name, value string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p", "annotations": map[string]string{name: value}},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "app", "image": "i"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNoWrongAnnotationIsSilent: of every annotation that weft knows, a value that it cannot
// have refuses the pod, by the field, with what is wrong and what to do, and changes nothing;
// one without effect is a warning.
func TestNoWrongAnnotationIsSilent(t *testing.T) {
	t.Parallel()
	h := handler(t, "")
	for _, a := range inject.Annotations() {
		at := "metadata.annotations[" + a.Name + "]: "
		if !a.Read() {
			got := ask(t, h, webhook.PathInject, request("on", "Pod", "", annotated(t, a.Name, "wrong"), ""))
			switch said := strings.Join(got.Warnings, "\n"); {
			case got.Allowed && !strings.Contains(said, at):
				t.Errorf("%s: nothing is said of it: %s", a.Name, said)
			case !got.Allowed && (!strings.Contains(got.Result.Message, at) || len(got.Patch) > 0):
				t.Errorf("%s: %+v", a.Name, got.Result)
			}
			continue
		}
		if len(wrong[a.Name]) == 0 {
			t.Errorf("%s: this test knows no value that it must not have", a.Name)
		}
		for _, w := range wrong[a.Name] {
			got := ask(t, h, webhook.PathInject, request("on", "Pod", "", annotated(t, a.Name, w[0]), ""))
			if got.Allowed || got.Result.Code != 422 || len(got.Result.Details.Causes) != 1 || len(got.Patch) > 0 {
				t.Errorf("%s: %q: allowed %v, %+v", a.Name, w[0], got.Allowed, got.Result)
				continue
			}
			c := got.Result.Details.Causes[0]
			if c.Field+": " != at || !strings.Contains(c.Message, w[1]) || !advises(c.Message) {
				t.Errorf("%s: %q: %s: %s", a.Name, w[0], c.Field, c.Message)
			}
		}
	}
}

// TestPodsAreCounted by what became of them and why; dry runs are not.
func TestPodsAreCounted(t *testing.T) {
	t.Parallel()
	counted := map[string]int{}
	h := webhook.Handler(webhook.Options{Catalog: catalog, Admission: chain(), Cluster: known(t, ""), Log: slog.New(slog.DiscardHandler), Injected: func(verdict, code string) { counted[verdict+" "+code]++ }})
	const plain = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"%s},"spec":{"containers":[{"name":"app","image":"i"}]}}`
	for _, meta := range []string{"", "", `,"labels":{"kuma.io/sidecar-injection":"disabled"}`, `,"labels":{"kuma.io/sidecar-injection":"on"}`, `,"labels":{"kuma.io/mesh":"nope"}`, `,"annotations":{"weft.io/native-sidecar":"maybe"}`} {
		ask(t, h, webhook.PathInject, request("on", "Pod", "", fmt.Sprintf(plain, meta), ""))
	}
	dry := request("on", "Pod", "", fmt.Sprintf(plain, ""), "")
	dry.DryRun = new(true)
	ask(t, h, webhook.PathInject, dry)
	want := map[string]int{"inject NamespaceEnabled": 2, "skip PodDisabled": 1, "refuse InvalidLabel": 1, "refuse MeshNotFound": 1, "refuse InvalidAnnotation": 1}
	if !maps.Equal(counted, want) {
		t.Errorf("%v, want %v", counted, want)
	}
}

// advises reports whether a message says what is wrong and, after a semicolon, what to do.
func advises(message string) bool {
	what, todo, ok := strings.Cut(message, "; ")
	return ok && what != "" && todo != ""
}

// TestWrongPodsAreRefused: each shape that no pod with a sidecar can have refuses it by the
// fields, all of them, and changes nothing.
func TestWrongPodsAreRefused(t *testing.T) {
	t.Parallel()
	h := handler(t, "")
	const app = `{"name":"app","image":"i"}`
	type shape struct {
		meta, spec string
		fields     []string
	}
	shapes := map[string]shape{
		"a label that is no answer":        {`"labels":{"kuma.io/sidecar-injection":"on"}`, `"containers":[` + app + `]`, []string{"metadata.labels[kuma.io/sidecar-injection]"}},
		"the network of the host, asked":   {`"labels":{"kuma.io/sidecar-injection":"enabled"}`, `"hostNetwork":true,"containers":[` + app + `]`, []string{"spec.hostNetwork"}},
		"a mesh that is not there":         {`"labels":{"kuma.io/mesh":"nope"}`, `"containers":[` + app + `]`, []string{"metadata.labels[kuma.io/mesh]"}},
		"a mesh that has no name":          {`"labels":{"kuma.io/mesh":"A_b"}`, `"containers":[` + app + `]`, []string{"metadata.labels[kuma.io/mesh]"}},
		"a workload of its own":            {`"labels":{"kuma.io/workload":"x"}`, `"containers":[` + app + `]`, []string{"metadata.labels[kuma.io/workload]"}},
		"the user of the sidecar":          {"", `"securityContext":{"runAsUser":5678},"containers":[` + app + `]`, []string{"spec.securityContext.runAsUser"}},
		"the user in a container":          {"", `"containers":[` + app + `,{"name":"b","securityContext":{"runAsUser":5678}}]`, []string{"spec.containers[1].securityContext.runAsUser"}},
		"the user in an init container":    {"", `"initContainers":[{"name":"b","securityContext":{"runAsUser":5678}}],"containers":[` + app + `]`, []string{"spec.initContainers[0].securityContext.runAsUser"}},
		"a volume with the sidecar's name": {"", `"volumes":[{"name":"data"},{"name":"weft-data"}],"containers":[` + app + `]`, []string{"spec.volumes[1].name"}},
		"several at once": {`"labels":{"kuma.io/mesh":"nope","kuma.io/workload":"x"},"annotations":{"weft.io/native-sidecar":"maybe"}`, `"volumes":[{"name":"weft-data"}],"containers":[` + app + `]`,
			[]string{"metadata.labels[kuma.io/mesh]", "metadata.annotations[weft.io/native-sidecar]", "metadata.labels[kuma.io/workload]", "spec.volumes[0].name"}},
	}
	for _, port := range []int{9001, 9901, 9902, 15001, 15006, 15053} {
		shapes[fmt.Sprintf("port %d of the sidecar", port)] = shape{"", fmt.Sprintf(`"containers":[{"name":"app","ports":[{"containerPort":80},{"containerPort":%d}]}]`, port), []string{"spec.containers[0].ports[1].containerPort"}}
	}
	for name, s := range shapes {
		pod := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",%s},"spec":{%s}}`, s.meta, s.spec)
		if s.meta == "" {
			pod = fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{%s}}`, s.spec)
		}
		got := ask(t, h, webhook.PathInject, request("on", "Pod", "", pod, ""))
		if got.Allowed || got.Result.Code != 422 || len(got.Patch) > 0 {
			t.Errorf("%s: allowed %v, %+v", name, got.Allowed, got.Result)
			continue
		}
		var fields []string
		for _, c := range got.Result.Details.Causes {
			fields = append(fields, c.Field)
			if !advises(c.Message) {
				t.Errorf("%s: %s: %q does not say what to do", name, c.Field, c.Message)
			}
		}
		slices.Sort(fields)
		slices.Sort(s.fields)
		if !slices.Equal(fields, s.fields) {
			t.Errorf("%s: refused by %q, want %q", name, fields, s.fields)
		}
	}
}
