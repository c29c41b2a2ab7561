package scale_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/weftmesh/weft/internal/kubetest"
)

// What there is: namespaces of Services, and pods behind each of them.
const (
	namespaces = 20
	services   = 10 // of a namespace
	pods       = 10 // of a Service
	writers    = 16 // at once
)

// each calls f for every Service, several at once.
func each(f func(namespace, service string)) {
	todo := make(chan [2]string)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for x := range todo {
				f(x[0], x[1])
			}
		})
	}
	for n := range namespaces {
		for s := range services {
			todo <- [2]string{fmt.Sprintf("team-%d", n), fmt.Sprintf("svc-%d", s)}
		}
	}
	close(todo)
	group.Wait()
}

// fill makes the cluster: 200 Services of 10 pods each, 200 routes and 300 policies.
func fill(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	for n := range namespaces {
		create(t, c, "/api/v1/namespaces", fmt.Sprintf(`{metadata: {name: team-%d, labels: {kuma.io/sidecar-injection: enabled}}}`, n))
	}
	each(func(namespace, service string) {
		core, kuma := "/api/v1/namespaces/"+namespace+"/", "/apis/kuma.io/v1alpha1/namespaces/"+namespace+"/"
		create(t, c, core+"services", fmt.Sprintf(`{metadata: {name: %[1]s}, spec: {selector: {app: %[1]s}, ports: [{name: http, port: 80, targetPort: 8080}]}}`, service))
		var endpoints []string
		for i := range pods {
			endpoints = append(endpoints, run(t, c, core+"pods", namespace, service, i))
		}
		create(t, c, "/apis/discovery.k8s.io/v1/namespaces/"+namespace+"/endpointslices", fmt.Sprintf(`
{metadata: {name: %[1]s-1, labels: {kubernetes.io/service-name: %[1]s}}, addressType: IPv4, ports: [{name: http, port: 8080, protocol: TCP}], endpoints: [%[2]s]}`, service, strings.Join(endpoints, ", ")))
		create(t, c, kuma+"meshhttproutes", fmt.Sprintf(`
{apiVersion: kuma.io/v1alpha1, kind: MeshHTTPRoute, metadata: {name: %[1]s, labels: {kuma.io/mesh: default}}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: %[1]s}, rules: [
{matches: [{path: {type: PathPrefix, value: /a}}], default: {backendRefs: [{kind: MeshService, name: %[1]s, port: 80}]}},
{matches: [{path: {type: PathPrefix, value: /}}], default: {backendRefs: [{kind: MeshService, name: %[1]s, port: 80}]}}]}]}}`, service))
		create(t, c, kuma+"meshretries", retry(service, 3))
		if service < "svc-5" {
			create(t, c, kuma+"meshtimeouts", fmt.Sprintf(`
{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: %[1]s, labels: {kuma.io/mesh: default}}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: %[1]s}, default: {http: {requestTimeout: 9s}}}]}}`, service))
		}
	})
}

// retry is attached to the route of a Service.
func retry(service string, n int) string {
	return fmt.Sprintf(`{apiVersion: kuma.io/v1alpha1, kind: MeshRetry, metadata: {name: %[1]s, labels: {kuma.io/mesh: default}}, spec: {targetRef: {kind: MeshHTTPRoute, name: %[1]s},
to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: %[2]d}}}]}}`, service, n)
}

// run makes a pod that was injected and runs, and is its endpoint.
func run(t *testing.T, c *kubetest.Cluster, path, namespace, service string, i int) (endpoint string) {
	t.Helper()
	name := fmt.Sprintf("%s-%d", service, i)
	var n, s int
	fmt.Sscanf(namespace+" "+service, "team-%d svc-%d", &n, &s)
	ip := fmt.Sprintf("10.%d.%d.%d", n+1, s+1, i+1)
	p := create(t, c, path, fmt.Sprintf(`{metadata: {name: %s, labels: {app: %s}, annotations: {kuma.io/sidecar-injected: "true"}}, spec: {
initContainers: [{name: weft-init, image: weft, args: [--redirect-inbound=true, --inbound-port=15006, --outbound-port=15001, --ip-family-mode=ipv4]}],
containers: [{name: app, image: app, ports: [{name: http, containerPort: 8080}]}, {name: weft-sidecar, image: weft, env: [{name: WEFT_MESH, value: default}]}]}}`, name, service))
	p["status"] = kubetest.Document(t, fmt.Sprintf(`{phase: Running, podIP: %[1]s, podIPs: [{ip: %[1]s}], conditions: [{type: Ready, status: "True"}],
containerStatuses: [{name: app, ready: true, restartCount: 0, image: app, imageID: app}, {name: weft-sidecar, ready: true, restartCount: 0, image: weft, imageID: weft}]}`, ip))
	if status, got := c.Send(t, http.MethodPut, path+"/"+name+"/status", p); status != http.StatusOK {
		t.Errorf("status of %s: %d %v", name, status, got["message"])
	}
	uid := p["metadata"].(map[string]any)["uid"]
	return fmt.Sprintf(`{addresses: [%s], conditions: {ready: true}, targetRef: {kind: Pod, name: %s, namespace: %s, uid: %v}}`, ip, name, namespace, uid)
}

func create(t *testing.T, c *kubetest.Cluster, path, document string) map[string]any {
	t.Helper()
	status, got := c.Send(t, http.MethodPost, path, kubetest.Document(t, document))
	if status != http.StatusCreated {
		t.Errorf("POST %s: %d %v", path, status, got["message"])
	}
	return got
}
