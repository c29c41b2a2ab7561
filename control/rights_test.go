package control_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/deploy"
	"github.com/weftmesh/weft/internal/kubetest"
)

// granted is an API server with everything that `weft install control-plane` prints but the
// Deployment, and a control plane that runs under the account of that.
type granted struct {
	*admitted
	audit string // a file
	log   *lines
}

// lines is what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newGranted(t *testing.T, values ...install.SetFlags) *granted {
	t.Helper()
	dir := t.TempDir()
	g := &granted{audit: filepath.Join(dir, "audit.log"), log: &lines{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(g.log)
		}
	})
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(`{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := kubetest.Start(t, "--audit-policy-file", policy, "--audit-log-path", g.audit)
	g.admitted = &admitted{T: t, Cluster: c}
	for _, d := range crd.All(world.Catalog(), "dev", crd.Bundles(world.Catalog())...) {
		if status, got := c.Send(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", d.Metadata.Name, status, got["message"])
		}
	}
	gateway, err := deploy.GatewayAPI("standard")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range kubetest.Documents(t, gateway) {
		c.Apply(t, o, "")
	}
	for name, labels := range map[string]string{"weft-system": "", "on": "kuma.io/sidecar-injection: enabled", "off": "kuma.io/sidecar-injection: disabled", "bare": ""} {
		create(t, c, "/api/v1/namespaces", "metadata: {name: \""+name+"\", labels: {"+labels+"}}")
	}
	given, err := install.Read(nil, values...)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := install.Render(install.Release{Namespace: "weft-system", Version: "dev", Service: "weft"}, given)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		for _, o := range kubetest.Documents(t, m.Text) {
			if kind := o["kind"].(string); kind != "Deployment" && !strings.HasSuffix(kind, "WebhookConfiguration") {
				c.Apply(t, o, "")
			}
		}
	}
	status, got := c.Send(t, http.MethodPost, "/api/v1/namespaces/weft-system/serviceaccounts/weft-control-plane/token",
		map[string]any{"spec": map[string]any{"audiences": []any{"https://kubernetes.default.svc"}, "expirationSeconds": 3600}})
	if status != http.StatusCreated {
		t.Fatalf("a token of the account: %d %v", status, got["message"])
	}
	g.cfg = clustered(t, c.URL, &kubetest.Cluster{CA: c.CA, Token: got["status"].(map[string]any)["token"].(string)})
	g.cfg.Namespace, g.cfg.Webhooks, g.cfg.APITLS, g.cfg.SkipDefaultPolicies = "weft-system", "127.0.0.1:0", "127.0.0.1:0", false
	g.cfg.WriteDataplanes = len(values) > 0
	g.plane = startLogging(t, g.cfg, slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	return g
}

// request is one of the audit log.
type request struct {
	Verb string
	User struct{ Username string }
	Ref  struct{ Resource, APIGroup, Subresource, Name string } `json:"objectRef"`
	URI  string                                                 `json:"requestURI"`
	Said struct {
		Code    int
		Message string
	} `json:"responseStatus"`
}

// requests are those of the control plane.
func (g *granted) requests() (out []request) {
	g.Helper()
	text, err := os.ReadFile(g.audit)
	if err != nil {
		g.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r request
		if json.Unmarshal([]byte(line), &r) == nil && r.User.Username == "system:serviceaccount:weft-system:weft-control-plane" && r.Ref.Resource != "" {
			out = append(out, r)
		}
	}
	return out
}

func right(group, resource, verb string) string {
	return verb + " " + resource + "." + group
}

// TestAPIServerGrantsWhatIsNeeded: under the account of the chart a control plane does all
// that it does, nothing is denied it, and it has no right that it never uses
// (spec/kubernetes.md 6.7).
func TestAPIServerGrantsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	g := newGranted(t, install.SetFlags{Words: "writeDataplanes=true"})
	g.register()
	g.asked()
	early := kubetest.Document(t, retryOf("early", `{numRetries: 3}`, "kuma.io/mesh: elsewhere"))
	if status, got := g.Send(t, http.MethodPost, "/apis/kuma.io/v1alpha1/namespaces/on/meshretries?dryRun=All", early); status != http.StatusCreated { // the hook looks for the mesh
		t.Errorf("a document before its mesh: %d %v", status, got["message"])
	}
	workload(t, g.Cluster)
	eventually(t, "the leader has made mesh default and its policies", func() bool {
		mesh, _ := g.Send(t, http.MethodGet, "/apis/kuma.io/v1alpha1/meshes/default", nil)
		_, list := g.Send(t, http.MethodGet, "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshretries", nil)
		items, _ := list["items"].([]any)
		return mesh == http.StatusOK && len(items) > 0
	})
	g.routes()
	eventually(t, "the pod is explained", func() bool {
		code, _ := g.plane.call(http.MethodGet, pod+"/_explain", "")
		return code == http.StatusOK
	})
	g.works()
	g.authorities()
	g.mirrors()
	g.policies()
	missing := func() (out []string) {
		used := g.used()
		for _, name := range g.granted() {
			if !used[name] && !ofUpgrades[name] {
				out = append(out, name)
			}
		}
		return out
	}
	for end := time.Now().Add(2 * time.Minute); len(missing()) > 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	for _, name := range missing() {
		t.Errorf("nobody uses the right %q", name)
	}
	for _, r := range g.requests() {
		if r.Said.Code == http.StatusForbidden && !strings.Contains(r.Said.Message, "admission webhook") {
			t.Errorf("%s %s is denied: %s", r.Verb, r.URI, r.Said.Message)
		}
	}
	if text := g.log.String(); strings.Contains(text, "forbidden") {
		t.Errorf("the control plane logs that something is forbidden:\n%s", text)
	}
}

// used are the rights that the control plane has made use of.
func (g *granted) used() map[string]bool {
	g.Helper()
	used := map[string]bool{}
	for _, r := range g.requests() {
		resource := r.Ref.Resource
		if r.Ref.Subresource != "" {
			resource += "/" + r.Ref.Subresource
		}
		used[right(r.Ref.APIGroup, resource, r.Verb)] = true
	}
	return used
}

// granted are the rights of the chart for what the API server has.
func (g *granted) granted() (out []string) {
	g.Helper()
	for _, rule := range slices.Concat(install.ClusterRole().Rules, install.SystemRole().Rules, install.DataplanesRole().Rules) {
		for _, resource := range rule.Resources {
			if !g.serves(rule.Group, resource) {
				continue
			}
			for _, verb := range rule.Verbs {
				out = append(out, right(rule.Group, resource, verb))
			}
		}
	}
	return out
}

// routes writes one of each kind of route that a namespace may have.
func (g *granted) routes() {
	g.Helper()
	for _, document := range []string{
		`{apiVersion: kuma.io/v1alpha1, kind: MeshHTTPRoute, metadata: {name: a}, spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /a}}], default: {}}]}]}}`,
		`{apiVersion: kuma.io/v1alpha1, kind: MeshTCPRoute, metadata: {name: a}, spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [{default: {backendRefs: [{kind: MeshService, name: web, port: 80}]}}]}]}}`,
		`{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: a}, spec: {virtualhost: {fqdn: a.example}, routes: [{services: [{name: web, port: 80}]}]}}`,
		`{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: a}, spec: {hosts: [b.example], backends: [{name: web, type: service, serviceName: web, servicePort: 80}], defaultBackends: [{backendName: web}], routes: [{pathSubtree: /}]}}`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {parentRefs: [{kind: Service, group: "", name: web, port: 80}], rules: [{backendRefs: [{name: web, port: 80}]}]}}`,
	} {
		g.write("shop", kubetest.Document(g, document))
	}
}

// policies writes one of each kind, what people are shown first of it, and a collector for them. Some of them the control
// plane makes itself where a mesh has none, which it has done before.
func (g *granted) policies() {
	g.Helper()
	for _, k := range world.Kinds() {
		first := kubetest.Documents(g, []byte(k.Example))[0]
		g.write("shop", map[string]any{"apiVersion": "kuma.io/v1alpha1", "kind": k.Name, "metadata": map[string]any{"name": "shown"}, "spec": first["spec"]})
	}
	g.write("weft-system", kubetest.Document(g, `{apiVersion: kuma.io/v1alpha1, kind: MeshOpenTelemetryBackend, metadata: {name: collector}, spec: {endpoint: {address: collector.example}}}`))
}

// write writes a document into a namespace; warnings say who owns what.
func (g *granted) write(namespace string, o map[string]any) {
	g.Helper()
	o["metadata"].(map[string]any)["namespace"] = namespace
	if status, got := g.Send(g, http.MethodPost, path.Dir(g.Path(g, o)), o); status != http.StatusCreated {
		g.Fatalf("%v: %d %v", o["kind"], status, got["message"])
	}
}

// serves reports whether the API server has the resource.
func (g *granted) serves(group, resource string) bool {
	if group == "" {
		return true
	}
	_, groups := g.Send(g, http.MethodGet, "/apis/"+group, nil)
	preferred, _ := groups["preferredVersion"].(map[string]any)
	_, list := g.Send(g, http.MethodGet, fmt.Sprintf("/apis/%v", preferred["groupVersion"]), nil)
	resources, _ := list["resources"].([]any)
	return slices.ContainsFunc(resources, func(r any) bool { return r.(map[string]any)["name"] == resource })
}

// TestAPIServerUsersWriteInTheirNamespaces is row 52 of spec/kubernetes.md 8. The controller
// that adds weft-edit to edit is not there; the binding plays it.
func TestAPIServerUsersWriteInTheirNamespaces(t *testing.T) {
	t.Parallel()
	g := newGranted(t)
	g.register()
	g.asked()
	for _, role := range []string{"edit", "weft-edit"} {
		create(t, g.Cluster, "/apis/rbac.authorization.k8s.io/v1/namespaces/on/rolebindings",
			fmt.Sprintf("{metadata: {name: %s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: ann}]}", role, role))
	}
	_, edit := g.Send(t, http.MethodGet, "/apis/rbac.authorization.k8s.io/v1/clusterroles/edit", nil)
	_, added := g.Send(t, http.MethodGet, "/apis/rbac.authorization.k8s.io/v1/clusterroles/weft-edit", nil)
	selectors := fmt.Sprint(edit["aggregationRule"])
	for label := range added["metadata"].(map[string]any)["labels"].(map[string]any) {
		if strings.HasPrefix(label, "rbac.authorization.k8s.io/") && !strings.Contains(selectors, label) {
			t.Errorf("edit collects %s, which %s is not", selectors, label)
		}
	}
	const group = "/apis/kuma.io/v1alpha1/"
	retry := kubetest.Document(t, retryOf("hers", `{numRetries: 3}`, ""))
	generated := kubetest.Document(t, `{apiVersion: kuma.io/v1alpha1, kind: MeshService, metadata: {name: s, labels: {kuma.io/managed-by: k8s-controller}}, spec: {ports: [{port: 80}]}}`)
	mesh := kubetest.Document(t, `{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: hers}, spec: {}}`)
	dataplane := kubetest.Document(t, `{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: hers}, spec: {networking: {address: 10.0.0.9, inbound: [{port: 80, tags: {kuma.io/service: b_b_svc_80}}]}}}`)
	ann := g.As("ann")
	for what, c := range map[string]struct {
		path     string
		document map[string]any
		status   int
	}{
		"a policy in her namespace":   {group + "namespaces/on/meshretries", retry, http.StatusCreated},
		"a policy in weft-system":     {group + "namespaces/weft-system/meshretries", retry, http.StatusForbidden},
		"a policy in another one":     {group + "namespaces/off/meshretries", retry, http.StatusForbidden},
		"a generated MeshService":     {group + "namespaces/on/meshservices", generated, http.StatusForbidden},
		"a MeshExternalService there": {group + "namespaces/on/meshexternalservices", generated, http.StatusForbidden},
		"a Dataplane by hand":         {group + "namespaces/on/dataplanes", dataplane, http.StatusForbidden},
		"a Mesh":                      {group + "meshes", mesh, http.StatusForbidden},
	} {
		if status, got := ann.Send(t, http.MethodPost, c.path, c.document); status != c.status {
			t.Errorf("%s: %d %v, want %d", what, status, got["message"], c.status)
		}
	}
	if status, _ := ann.Send(t, http.MethodGet, group+"namespaces/weft-system/meshretries", nil); status != http.StatusForbidden {
		t.Errorf("she reads what is in weft-system: %d", status)
	}
}

// ofUpgrades are rights that only a control plane uses which finds default policies as an earlier
// release wrote them: it rewrites them at its start.
var ofUpgrades = map[string]bool{
	"patch meshretries.kuma.io": true, "patch meshtrafficpermissions.kuma.io": true,
}
