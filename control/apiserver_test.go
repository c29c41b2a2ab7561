package control_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/kubetest"
)

const (
	shop  = "/apis/kuma.io/v1alpha1/namespaces/shop/"
	pod   = "/meshes/default/dataplanes/web-1.shop"
	words = "written through the Kubernetes API; use kubectl apply"
)

// clustered is the configuration of a control plane over an API server.
func clustered(t *testing.T, url string, c *kubetest.Cluster) control.Config {
	t.Helper()
	dir := t.TempDir()
	ca, file := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}],
users: [{name: u, user: {token: %q}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`, url, ca, c.Token)
	for name, content := range map[string][]byte{ca: c.CA, file: []byte(text)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config(t)
	cfg.Store, cfg.Kubeconfig = "kube", file
	return cfg
}

// create applies a document to the API server.
func create(t testing.TB, c *kubetest.Cluster, path, document string) map[string]any {
	t.Helper()
	status, got := c.Send(t, http.MethodPost, path, kubetest.Document(t, document))
	if status != http.StatusCreated {
		t.Fatalf("POST %s: %d %v", path, status, got["message"])
	}
	return got
}

// webPod is a pod of namespace shop that was injected and runs.
func webPod(t *testing.T, c *kubetest.Cluster, name, ip string) {
	t.Helper()
	p := create(t, c, "/api/v1/namespaces/shop/pods", `
metadata: {name: `+name+`, labels: {app: web}, annotations: {kuma.io/sidecar-injected: "true"}}
spec: {containers: [{name: web, image: web, ports: [{containerPort: 8080}]}, {name: weft-sidecar, image: weft, env: [{name: WEFT_MESH, value: default}]}]}`)
	p["status"] = kubetest.Document(t, `
phase: Running
podIP: `+ip+`
podIPs: [{ip: `+ip+`}]
conditions: [{type: Ready, status: "True"}]
containerStatuses: [{name: web, ready: true, restartCount: 0, image: web, imageID: web}, {name: weft-sidecar, ready: true, restartCount: 0, image: weft, imageID: weft}]`)
	if status, got := c.Send(t, http.MethodPut, "/api/v1/namespaces/shop/pods/"+name+"/status", p); status != http.StatusOK {
		t.Fatalf("the status of the pod: %d %v", status, got["message"])
	}
}

// workload is a pod that was injected and runs, its Service and who answers for it.
func workload(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	create(t, c, "/api/v1/namespaces", `metadata: {name: shop}`)
	create(t, c, "/api/v1/namespaces/shop/services", `{metadata: {name: web}, spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}}`)
	webPod(t, c, "web-1", "198.51.100.9")
	create(t, c, "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices", `
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [198.51.100.9], conditions: {ready: true}, targetRef: {kind: Pod, name: web-1, namespace: shop}}]`)
}

// TestAPIServerIsWhatIsServed: documents of the cluster reach a sidecar, a change too, and
// nobody writes but through the API server.
func TestAPIServerIsWhatIsServed(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	all := world.Catalog()
	for _, d := range crd.All(all, "dev") {
		if status, got := c.Send(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", d.Metadata.Name, status, got["message"])
		}
	}
	workload(t, c)
	p := start(t, clustered(t, c.URL, c))
	routes := `{apiVersion: kuma.io/v1alpha1, kind: MeshHTTPRoute, metadata: {name: old}, spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /old}}], default: {}}]}]}}`
	retry := `{apiVersion: kuma.io/v1alpha1, kind: MeshRetry, metadata: {name: thrice}, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}}`
	eventually(t, "the definitions are served", func() bool {
		status, _ := c.Send(t, http.MethodPost, shop+"meshretries", kubetest.Document(t, retry))
		return status == http.StatusCreated || status == http.StatusConflict
	})
	eventually(t, "the definition of routes is served", func() bool {
		status, _ := c.Send(t, http.MethodPost, shop+"meshhttproutes", kubetest.Document(t, routes))
		return status == http.StatusCreated || status == http.StatusConflict
	})
	eventually(t, "the pod explains its route and policy", func() bool {
		code, text := p.call(http.MethodGet, pod+"/_explain", "")
		return code == http.StatusOK && strings.Contains(text, "thrice") && strings.Contains(text, "old")
	})
	seen := p.connectTimeouts("web-1.shop")
	started := time.Now()
	create(t, c, shop+"meshtimeouts", `{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: slow}, spec: {from: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 17s}}]}}`)
	eventually(t, "a change is acknowledged", func() bool { return seen(17 * time.Second) })
	t.Logf("a change was acknowledged %v after the API server had taken it", time.Since(started))
	if text := p.want(http.StatusOK, http.MethodGet, "/metrics", ""); !strings.Contains(text, "\nweft_store_stale_seconds 0\n") {
		t.Error("the metrics do not say that the API server is followed")
	}
	p.readOnly()
}

// readOnly: nobody writes here, and a sidecar brings no Dataplane along.
func (p *plane) readOnly() {
	p.t.Helper()
	const path = "/meshes/default/meshretries/thrice?namespace=shop"
	for _, ask := range [][3]string{
		{http.MethodPut, "/meshes/default/meshretries/mr-1", retryAll}, {http.MethodDelete, path, ""}, {http.MethodPost, "/_apply", retryAll},
	} {
		if text := p.want(http.StatusMethodNotAllowed, ask[0], ask[1], ask[2]); !strings.Contains(text, words) {
			p.t.Errorf("%s %s: %s", ask[0], ask[1], text)
		}
	}
	url := "http://" + p.XDS()
	if code, text := p.ask(http.DefaultClient, url, "", map[string]any{"mesh": "default", "name": "web-1.shop"}); code != http.StatusOK {
		p.t.Errorf("the bootstrap of a pod: %d %s", code, text)
	}
	if code, text := p.ask(http.DefaultClient, url, "", map[string]any{"mesh": "default", "name": "guest-1", "dataplaneResource": guest}); code != http.StatusMethodNotAllowed || !strings.Contains(text, words) {
		p.t.Errorf("a Dataplane that its sidecar brings along: %d %s", code, text)
	}
}

// connectTimeouts follows the clusters of a dataplane as its Envoy would, acknowledges
// all, and tells whether any has that timeout.
func (p *plane) connectTimeouts(name string, token ...string) func(time.Duration) bool {
	p.t.Helper()
	stream, end := p.stream(name, strings.Join(token, ""))
	p.t.Cleanup(end)
	var mu sync.Mutex
	acknowledged := map[time.Duration]bool{}
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil || stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}) != nil {
				return
			}
			for _, x := range r.GetResources() {
				var of clusterv3.Cluster
				if x.GetResource().UnmarshalTo(&of) == nil {
					_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpointType, ResourceNamesSubscribe: []string{of.GetName()}})
					mu.Lock()
					acknowledged[of.GetConnectTimeout().AsDuration()] = true
					mu.Unlock()
				}
			}
		}
	}()
	return func(d time.Duration) bool {
		mu.Lock()
		defer mu.Unlock()
		return acknowledged[d]
	}
}

// TestAPIServerThatIsAwayIsWaitedFor: the control plane starts without it, says what it
// waits for, answers nothing that it does not know, and stops when it is told to.
func TestAPIServerThatIsAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := serving(t, clustered(t, "https://127.0.0.1:1", &kubetest.Cluster{Token: "none"}), discard())
	eventually(t, "it says so", func() bool {
		code, text := p.call(http.MethodGet, "/readyz", "")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "documents of the cluster are not read yet")
	})
	for _, path := range []string{"/meshes", "/meshes/default/meshretries", pod + "/_explain"} {
		p.want(http.StatusServiceUnavailable, http.MethodGet, path, "")
	}
	p.want(http.StatusOK, http.MethodGet, "/healthz", "")
	if code, text := p.ask(http.DefaultClient, "http://"+p.XDS(), "", map[string]any{"name": "web-1.shop"}); code != http.StatusServiceUnavailable {
		t.Errorf("a bootstrap: %d %s", code, text)
	}
	stream, end := p.stream("web-1.shop", "")
	defer end()
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("a stream: %v", err)
	}
}
