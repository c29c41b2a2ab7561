package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/inject"
)

// injection is what the control plane of these tests injects.
var injection = inject.Default("test")

// cluster has mesh default, and the namespaces on, off and bare of spec/kubernetes.md 8.
type cluster struct {
	model *resolve.Model
	label func(namespace string) map[string]string
	given func() inject.SpireValues // nil where they are those of everybody
}

func (c cluster) Namespace(_ context.Context, name string) (inject.Namespace, error) {
	if name == "panics" {
		panic("a bug, quoting the object")
	}
	return inject.Namespace{Name: name, Labels: c.label(name)}, nil
}
func (cluster) HasMesh(_ context.Context, name string) (bool, error) { return name == "default", nil }
func (s cluster) Injection() inject.Config {
	c := injection
	c.Meshes = []string{"default"}
	if s.given != nil {
		c.Spire = s.given()
	}
	return c
}
func (c cluster) Model() *resolve.Model       { return c.model }
func (c cluster) Written() *snapshot.Snapshot { return c.model.Written() }

// chain is what documents go through.
func chain() *admission.Chain {
	return world.Settings{Environment: api.EnvKubernetes}.Admission(admission.Options{Cluster: true, Now: time.Now})
}

func labelled(name string) map[string]string {
	return map[string]map[string]string{"on": {inject.LabelInjection: "enabled"}, "off": {inject.LabelInjection: "disabled"}, "yes": {inject.LabelInjection: "yes"}}[name]
}

func known(t testing.TB, documents string) cluster {
	t.Helper()
	objects, found := world.Decode("", []byte(documents))
	if len(found) > 0 && documents != "" {
		t.Fatal(found)
	}
	m, _ := world.Compile(world.Snapshot(objects...))
	return cluster{model: m, label: labelled}
}

func handler(t testing.TB, documents string) http.Handler {
	return webhook.Handler(webhook.Options{Catalog: catalog, Admission: chain(), Cluster: known(t, documents), Ourselves: "weft", Log: slog.New(slog.DiscardHandler)})
}

// ask sends a review and reads the answer.
func ask(t *testing.T, h http.Handler, path string, q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	q.UID = "7"
	body := admissionv1.AdmissionReview{Request: q}
	body.APIVersion, body.Kind = "admission.k8s.io/v1", "AdmissionReview"
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(text))))
	var out admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Response == nil || out.Response.UID != "7" {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return out.Response
}

// request is a write of a document.
func request(namespace, kind, group, document, before string) *admissionv1.AdmissionRequest {
	q := &admissionv1.AdmissionRequest{Namespace: namespace, Operation: admissionv1.Create}
	q.Kind.Kind, q.Kind.Group = kind, group
	q.Object.Raw = []byte(document)
	if before != "" {
		q.Operation, q.OldObject.Raw = admissionv1.Update, []byte(before)
	}
	return q
}

func retry(labels, conf string) string {
	return fmt.Sprintf(`{"apiVersion":"kuma.io/v1alpha1","kind":"MeshRetry","metadata":{"name":"r","namespace":"on","labels":{%s}},
		"spec":{"targetRef":{"kind":"Mesh"},"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{%s}}}]}}`, labels, conf)
}

// TestDocuments: who may write what, in the words of `weft validate` (spec/kubernetes.md
// 6.5, rows 51 and 52).
func TestDocuments(t *testing.T) {
	t.Parallel()
	h := handler(t, "")
	external := `{"apiVersion":"kuma.io/v1alpha1","kind":"MeshExternalService","metadata":{"name":"e","namespace":"%s"},"spec":{"match":{"type":"HostnameGenerator","port":80,"protocol":"http"},"endpoints":[{"address":"192.0.2.1","port":80}]}}`
	service := `{"apiVersion":"kuma.io/v1alpha1","kind":"MeshService","metadata":{"name":"s","namespace":"on","labels":{%s}},"spec":{"ports":[{"port":%d}]}}`
	plane := `{"apiVersion":"kuma.io/v1alpha1","kind":"Dataplane","metadata":{"name":"web-1","namespace":"on","labels":{%s}},"spec":{"networking":{"address":"%s","inbound":[{"port":80,"tags":{"kuma.io/service":"web"}}]}}}`
	const generated = `"kuma.io/managed-by":"k8s-controller"`
	for name, c := range map[string]struct {
		document, before string
		code             int32
		says             []string
	}{
		"sound":                         {retry(``, `"numRetries":3`), "", 0, nil},
		"row 51":                        {retry(``, `"numRetries":-1,"perTryTimeout":"x"`), "", 422, []string{"spec.to[0].default.http.numRetries: ", "spec.to[0].default.http.perTryTimeout: "}},
		"before its mesh":               {retry(`"kuma.io/mesh":"later"`, `"numRetries":3`), "", 0, nil},
		"another mesh":                  {retry(`"kuma.io/mesh":"default"`, `"numRetries":3`), retry(`"kuma.io/mesh":"old"`, `"numRetries":3`), 422, []string{`metadata.labels["kuma.io/mesh"]: the label is "old" and cannot be changed`}},
		"another zone":                  {retry(`"kuma.io/zone":"b"`, `"numRetries":3`), retry(`"kuma.io/zone":"a"`, `"numRetries":3`), 422, []string{`"kuma.io/zone"`}},
		"another manager":               {retry(`"kuma.io/managed-by":"b"`, `"numRetries":3`), retry(``, `"numRetries":3`), 422, []string{`"kuma.io/managed-by"`}},
		"a role that is not its":        {retry(`"kuma.io/policy-role":"system"`, `"numRetries":3`), "", 403, []string{"kuma.io/policy-role"}},
		"a namespace that is not its":   {retry(`"k8s.kuma.io/namespace":"kuma-system"`, `"numRetries":3`), "", 403, []string{"k8s.kuma.io/namespace"}},
		"its own role":                  {retry(`"kuma.io/policy-role":"consumer"`, `"numRetries":3`), "", 0, nil},
		"an external service of a team": {fmt.Sprintf(external, "on"), "", 403, []string{"create it in weft-system or kuma-system"}},
		"one of no namespace":           {`{"apiVersion":"kuma.io/v1alpha1","kind":"HostnameGenerator","metadata":{"name":"g"},"spec":{"selector":{"meshService":{}},"template":"{{ .DisplayName }}.mesh"}}`, "", 0, nil},
		"one of the operators":          {fmt.Sprintf(external, "weft-system"), "", 0, nil},
		"a generated service":           {fmt.Sprintf(service, generated, 81), fmt.Sprintf(service, generated, 80), 403, []string{"change the Service"}},
		"one that is left as it is":     {fmt.Sprintf(service, generated, 80), fmt.Sprintf(service, generated, 80), 0, nil},
		"one that seems generated":      {fmt.Sprintf(service, generated, 80), "", 403, []string{"change the Service"}},
		"a mirror of a pod":             {fmt.Sprintf(plane, generated, "192.0.2.1"), fmt.Sprintf(plane, generated, "192.0.2.2"), 403, []string{"change the pod"}},
		"one that seems a mirror":       {fmt.Sprintf(plane, generated, "192.0.2.1"), "", 403, []string{"change the pod"}},
		"a dataplane by hand":           {fmt.Sprintf(plane, "", "192.0.2.1"), "", 0, nil},
		"a service by hand":             {fmt.Sprintf(service, "", 80), "", 0, nil},
	} {
		a := ask(t, h, webhook.PathKuma, request("on", "MeshRetry", "kuma.io", c.document, c.before))
		if a.Allowed != (c.code == 0) || c.code != 0 && a.Result.Code != c.code {
			t.Errorf("%s: %v %+v", name, a.Allowed, a.Result)
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(a.Result.Message, want) {
				t.Errorf("%s: %q does not say %q", name, a.Result.Message, want)
			}
		}
		if c.code == 422 && len(a.Result.Details.Causes) != len(c.says) {
			t.Errorf("%s: causes %+v", name, a.Result.Details.Causes)
		}
	}
}

// TestWarnings: what the cluster says of a document that it takes.
func TestWarnings(t *testing.T) {
	t.Parallel()
	doc := strings.Replace(retry(``, `"numRetries":3`), `"to":[{"targetRef":{"kind":"Mesh"}`, `"to":[{"targetRef":{"kind":"MeshService","name":"nobody"}`, 1)
	a := ask(t, handler(t, ""), webhook.PathKuma, request("on", "MeshRetry", "kuma.io", doc, ""))
	if !a.Allowed || len(a.Warnings) == 0 || !strings.Contains(strings.Join(a.Warnings, "\n"), "nobody") {
		t.Errorf("%v %v", a.Allowed, a.Warnings)
	}
}

// TestDefaults: computed labels, and nothing else; a second time nothing.
func TestDefaults(t *testing.T) {
	t.Parallel()
	h := handler(t, "")
	doc := retry(`"team":"a"`, `"perTryTimeout":"90s"`)
	a := ask(t, h, webhook.PathDefaults, request("on", "MeshRetry", "kuma.io", doc, ""))
	filled := apply(t, doc, a.Patch)
	for _, want := range []string{`"kuma.io/mesh":"default"`, `"kuma.io/env":"kubernetes"`, `"kuma.io/policy-role":"consumer"`, `"k8s.kuma.io/namespace":"on"`, `"kuma.io/origin":"zone"`, `"perTryTimeout":"90s"`, `"team":"a"`} {
		if !strings.Contains(filled, want) {
			t.Errorf("%s is not in %s", want, filled)
		}
	}
	if again := ask(t, h, webhook.PathDefaults, request("on", "MeshRetry", "kuma.io", filled, filled)); len(again.Patch) > 0 {
		t.Errorf("again: %s", again.Patch)
	}
	if a := ask(t, h, webhook.PathKuma, request("on", "MeshRetry", "kuma.io", filled, doc)); !a.Allowed || len(a.Warnings) > 0 {
		t.Errorf("filled in: %+v %v", a.Result, a.Warnings)
	}
	moved := strings.Replace(filled, `"to":[{"targetRef":{"kind":"Mesh"}`, `"to":[{"targetRef":{"kind":"MeshService","name":"s"}`, 1)
	if a := ask(t, h, webhook.PathDefaults, request("on", "MeshRetry", "kuma.io", moved, filled)); !strings.Contains(apply(t, moved, a.Patch), `"kuma.io/policy-role":"producer"`) {
		t.Errorf("a role that follows: %s of %s", a.Patch, moved)
	}
}

// TestTheEndOfAMesh is refused while it has dataplanes.
func TestTheEndOfAMesh(t *testing.T) {
	t.Parallel()
	q := func() *admissionv1.AdmissionRequest {
		q := &admissionv1.AdmissionRequest{Name: "default", Operation: admissionv1.Delete}
		q.Kind.Kind = api.KindMesh
		return q
	}
	if a := ask(t, handler(t, ""), webhook.PathKuma, q()); !a.Allowed {
		t.Errorf("an empty one: %+v", a.Result)
	}
	full := "type: Dataplane\nmesh: default\nname: d\nnetworking: {address: 192.0.2.1, inbound: [{port: 80, tags: {kuma.io/service: s}}]}\n"
	if a := ask(t, handler(t, full), webhook.PathKuma, q()); a.Allowed || a.Result.Code != 422 || !strings.Contains(a.Result.Message, "such as d") {
		t.Errorf("one with a dataplane: %v %+v", a.Allowed, a.Result)
	}
}

// TestWhatIsNoReview: spec/threats.md T7, and a bug is the error of its object.
func TestWhatIsNoReview(t *testing.T) {
	t.Parallel()
	h := handler(t, "")
	for body, want := range map[string]int{
		"":   400,
		"{}": 400,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`: 400,
		strings.Repeat(" ", webhook.LargestReview+1):                    413,
	} {
		for _, sized := range []bool{true, false} {
			r := httptest.NewRequest(http.MethodPost, webhook.PathInject, strings.NewReader(body))
			if !sized {
				r.ContentLength = -1
			}
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%.20q: %d, want %d", body, w.Code, want)
			}
		}
	}
	if a := ask(t, h, webhook.PathInject, request("panics", "Pod", "", `{"metadata":{"name":"p"}}`, "")); a.Allowed || a.Result.Code != 500 || !strings.Contains(a.Result.Message, "a bug in weft") {
		t.Errorf("a bug: %+v", a.Result)
	}
}

// FuzzReview: whatever comes is answered.
func FuzzReview(f *testing.F) {
	h := handler(f, "")
	f.Add(webhook.PathKuma, []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"UPDATE","kind":{"kind":"MeshRetry"},"object":`+retry("", `"numRetries":3`)+`,"oldObject":[]}}`))
	f.Add(webhook.PathDefaults, []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"object":{"metadata":[],"kind":"Mesh","apiVersion":"kuma.io/v1alpha1"}}}`))
	f.Add(webhook.PathInject, []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"operation":"CREATE","namespace":"on","kind":{"kind":"Pod","version":"v1"},"object":{"spec":{"containers":[{},{}]}}}}`))
	f.Add(webhook.PathRoutes, []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"object":{"spec":{"parentRefs":[{}]}}}}`))
	paths := map[string]bool{webhook.PathKuma: true, webhook.PathDefaults: true, webhook.PathInject: true, webhook.PathRoutes: true}
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		if !paths[path] {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(body))))
		if strings.Contains(w.Body.String(), "a bug in weft") || w.Code == 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// catalog is that of a control plane in a cluster.
var catalog = world.Catalog().InZone(api.Zone{Name: "default", Environment: api.EnvKubernetes})
