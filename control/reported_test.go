package control_test

import (
	"encoding/json"

	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/kubetest"
)

// asked counts the requests that the API server has answered about a resource, by verbs and
// subresources that match.
func asked(t *testing.T, c *kubetest.Cluster, resource, verbs, subresource string) int {
	t.Helper()
	_, got := c.Send(t, http.MethodGet, "/metrics", nil)
	text, _ := got["message"].(string)
	n := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "apiserver_request_total{") || !strings.Contains(line, fmt.Sprintf("resource=%q", resource)) ||
			!strings.Contains(line, fmt.Sprintf("subresource=%q", subresource)) || !regexp.MustCompile(`verb="(`+verbs+`)"`).MatchString(line) {
			continue
		}
		count, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		n += int(count)
	}
	return n
}

// told is the status of a kind of weft's as the API server has it.
type told struct {
	ObservedGeneration int64
	Dataplanes         struct{ Total, Applied, Rejected int }
	Conditions         []struct {
		Type, Status, Reason, Message, LastTransitionTime string
		ObservedGeneration                                int64
	}
}

func statusAt(t testing.TB, c *kubetest.Cluster, path string, into any) {
	t.Helper()
	code, got := c.Send(t, http.MethodGet, path, nil)
	if code != http.StatusOK {
		t.Fatalf("GET %s: %d %v", path, code, got["message"])
	}
	text, err := json.Marshal(got["status"])
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// is is a condition in short: its status and reason.
func (s told) is(condition string) string {
	for _, c := range s.Conditions {
		if c.Type == condition {
			return c.Status + " " + c.Reason
		}
	}
	return ""
}

func replace(t *testing.T, c *kubetest.Cluster, path, patch string) {
	t.Helper()
	if status, got := c.Patch(t, path, []byte(patch)); status != http.StatusOK {
		t.Fatalf("PATCH %s: %d %v", path, status, got["message"])
	}
}

// writes holds how many statuses a change makes the leader write. A sidecar that takes long is
// told of meanwhile, so one of three tries has to be right.
func writes(t *testing.T, c *kubetest.Cluster, what string, want int, change func(try int)) {
	t.Helper()
	var got []int
	for try := range 3 {
		before := asked(t, c, "meshtimeouts", "APPLY|PATCH|PUT", "status")
		change(try)
		quiet(t, c)
		got = append(got, asked(t, c, "meshtimeouts", "APPLY|PATCH|PUT", "status")-before)
		if got[try] == want {
			return
		}
	}
	t.Errorf("%s was %d writes, want %d", what, got, want)
}

// TestAPIServerIsToldHowPoliciesFare: once for an edit, not at all for a pod that is ready,
// again when somebody takes the status away; what stands there is what the API says.
func TestAPIServerIsToldHowPoliciesFare(t *testing.T) {
	t.Parallel()
	c := defined(t)
	workload(t, c)
	p := start(t, replicated(t, c, "a"))
	p.follows("web-1.shop")
	const slow = shop + "meshtimeouts/slow"
	create(t, c, shop+"meshtimeouts", `{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: slow}, spec: {from: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 17s}}]}}`)
	create(t, c, shop+"meshtimeouts", `{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: lost}, spec: {targetRef: {kind: Dataplane, name: nobody}, from: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 17s}}]}}`)
	var s told
	eventually(t, "a policy has a status", func() bool { statusAt(t, c, slow, &s); return s.is("Programmed") == "True Programmed" })
	if s.is("Accepted") != "True Accepted" || s.is("ResolvedRefs") != "True ResolvedRefs" || s.ObservedGeneration != 1 || s.Dataplanes.Total != 1 || s.Dataplanes.Applied != 1 {
		t.Errorf("%+v", s)
	}
	var lost told
	eventually(t, "a policy that targets nothing says so", func() bool {
		statusAt(t, c, shop+"meshtimeouts/lost", &lost)
		return lost.is("Accepted") == "False TargetNotFound"
	})
	quiet(t, c)

	lists := asked(t, c, "meshtimeouts", "LIST", "")
	writes(t, c, "an edit", 1, func(try int) {
		replace(t, c, slow, fmt.Sprintf(`[{"op": "replace", "path": "/spec/from/0/default/connectionTimeout", "value": "%ds"}]`, 18+try))
		eventually(t, "the status is of the edit", func() bool {
			statusAt(t, c, slow, &s)
			return s.ObservedGeneration == int64(2+try) && s.is("Programmed") == "True Programmed"
		})
	})
	pod := "/api/v1/namespaces/shop/pods/web-1/status"
	writes(t, c, "a pod that is ready", 0, func(int) {
		for _, ready := range []string{"false", "true"} {
			replace(t, c, pod, `[{"op": "replace", "path": "/status/containerStatuses/0/ready", "value": `+ready+`}]`)
			quiet(t, c)
		}
	})
	if n := asked(t, c, "meshtimeouts", "LIST", "") - lists; n != 0 {
		t.Errorf("%d lists were read to write statuses", n)
	}
	replace(t, c, slow+"/status", `[{"op": "remove", "path": "/status/conditions"}]`)
	eventually(t, "a status that was taken away is written again", func() bool { s = told{}; statusAt(t, c, slow, &s); return s.is("Programmed") == "True Programmed" })
}

// gatewayAPI installs the definitions that the Gateway API publishes.
func gatewayAPI(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "config/crd/standard/gateway.networking.k8s.io_*s.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := kubetest.Document(t, string(text))
		if d["kind"] != "CustomResourceDefinition" {
			continue
		}
		if status, got := c.Send(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); status != http.StatusCreated {
			t.Fatalf("%s: %d %v", file, status, got["message"])
		}
	}
}

const gateways = "/apis/gateway.networking.k8s.io/v1/"

// TestAPIServerIsToldHowRoutesFare: each language in its own form, beside what others say.
func TestAPIServerIsToldHowRoutesFare(t *testing.T) {
	t.Parallel()
	c := defined(t)
	gatewayAPI(t, c)
	workload(t, c)
	replace(t, c, "/api/v1/namespaces/shop", `[{"op": "add", "path": "/metadata/labels/kuma.io~1sidecar-injection", "value": "enabled"}]`)
	eventually(t, "the Gateway API is served", func() bool {
		status, _ := c.Send(t, http.MethodGet, gateways+"httproutes", nil)
		return status == http.StatusOK
	})
	create(t, c, gateways+"gatewayclasses", `{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: weft}, spec: {controllerName: weft.io/controller}}`)
	create(t, c, gateways+"gatewayclasses", `{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: other}, spec: {controllerName: example.com/other}}`)
	create(t, c, gateways+"namespaces/shop/gateways", `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: edge}, spec: {gatewayClassName: weft, listeners: [{name: http, port: 80, protocol: HTTP}]}}`)
	create(t, c, gateways+"namespaces/shop/httproutes", `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec:
  parentRefs: [{kind: Service, group: "", name: web, port: 80}, {name: theirs}, {kind: Service, group: "", name: nowhere, port: 80}]
  rules: [{matches: [{path: {value: /v1}}], backendRefs: [{name: web, port: 80}]}]`)
	const route = gateways + "namespaces/shop/httproutes/web"
	replace(t, c, route+"/status", `[{"op": "add", "path": "/status", "value": {"parents": [{"controllerName": "example.com/other", "parentRef": {"name": "theirs"},
		"conditions": [{"type": "Accepted", "status": "True", "reason": "Accepted", "message": "ours", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}]}}]`)
	create(t, c, "/apis/projectcontour.io/v1/namespaces/shop/httpproxies", `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: root}, spec: {virtualhost: {fqdn: shop.example}, routes: [{services: [{name: web, port: 80}]}]}}`)
	create(t, c, "/apis/projectcontour.io/v1/namespaces/shop/httpproxies", `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: lone}, spec: {routes: [{services: [{name: web, port: 80}]}]}}`)
	const root = "/apis/projectcontour.io/v1/namespaces/shop/httpproxies/root"
	replace(t, c, root+"/status", `[{"op": "add", "path": "/status", "value": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}]`) // as who runs the edge writes it
	create(t, c, "/apis/zalando.org/v1/namespaces/shop/routegroups", `{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: rg}, spec: {hosts: [rg.example], backends: [{name: b, type: service, serviceName: web, servicePort: 80}], defaultBackends: [{backendName: b}]}}`)
	start(t, replicated(t, c, "a"))

	var class, gateway, group told
	eventually(t, "the class is accepted", func() bool {
		statusAt(t, c, gateways+"gatewayclasses/weft", &class)
		return class.is("Accepted") == "True Accepted"
	})
	eventually(t, "the Gateway is accepted", func() bool {
		statusAt(t, c, gateways+"namespaces/shop/gateways/edge", &gateway)
		return gateway.is("Accepted") == "True Accepted" && gateway.is("Programmed") == "False AddressNotAssigned"
	})
	var parents struct {
		Parents []struct {
			ControllerName string
			ParentRef      struct{ Name string }
			Conditions     []struct{ Type, Status, Reason string }
		}
	}
	eventually(t, "the route says how it fares at each parent", func() bool {
		statusAt(t, c, route, &parents)
		return strings.HasPrefix(fmt.Sprint(parents.Parents), "[{example.com/other {theirs} [{Accepted True Accepted}]} {weft.io/controller {web} [{Accepted True Accepted} {ResolvedRefs True ResolvedRefs}") &&
			strings.Contains(fmt.Sprint(parents.Parents), "{weft.io/controller {nowhere} [{Accepted False NoMatchingParent}")
	})
	eventually(t, "a RouteGroup has conditions", func() bool {
		statusAt(t, c, "/apis/zalando.org/v1/namespaces/shop/routegroups/rg", &group)
		return group.is("Accepted") == "True Accepted" && group.ObservedGeneration == 1
	})
	for name, want := range map[string]string{"root": "valid", "lone": "orphaned"} {
		var proxy struct{ CurrentStatus, Description string }
		eventually(t, "HTTPProxy "+name+" is "+want, func() bool {
			statusAt(t, c, "/apis/projectcontour.io/v1/namespaces/shop/httpproxies/"+name, &proxy)
			return proxy.CurrentStatus == want && proxy.Description != ""
		})
	}
	var edge struct {
		LoadBalancer struct{ Ingress []struct{ IP string } }
	}
	if statusAt(t, c, root, &edge); fmt.Sprint(edge.LoadBalancer.Ingress) != "[{192.0.2.7}]" {
		t.Errorf("what another writes of the status is %v", edge)
	}
	create(t, c, "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshexternalservices", `{apiVersion: kuma.io/v1alpha1, kind: MeshExternalService, metadata: {name: far}, spec: {match: {type: HostnameGenerator, port: 80, protocol: http}, endpoints: [{address: far.example, port: 80}]}}`)
	var service api.ServiceReport
	eventually(t, "a service has a virtual address", func() bool {
		statusAt(t, c, "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshexternalservices/far", &service)
		return len(service.VIPs) > 0 && strings.HasPrefix(service.VIPs[0].IP, "242.")
	})
	class = told{}
	if statusAt(t, c, gateways+"gatewayclasses/other", &class); class.is("Accepted") != "Unknown Pending" {
		t.Errorf("the class of another controller is %s", class.is("Accepted"))
	}
}

// follows acknowledges all that the sidecar of a dataplane gets.
func (p *plane) follows(name string) {
	p.t.Helper()
	close(p.acknowledges(name, ""))
}

// acknowledges is a sidecar that acknowledges what it gets, from the moment when the channel is
// closed.
func (p *plane) acknowledges(name, token string) chan<- struct{} {
	p.t.Helper()
	stream, end := p.stream(name, token)
	p.t.Cleanup(end)
	for _, kind := range []string{"config.listener.v3.Listener", "config.route.v3.RouteConfiguration", "config.endpoint.v3.ClusterLoadAssignment", "extensions.transport_sockets.tls.v3.Secret"} {
		if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/envoy." + kind, ResourceNamesSubscribe: []string{"*"}}); err != nil {
			p.t.Fatal(err)
		}
	}
	begin := make(chan struct{})
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				return // the test has ended
			}
			select {
			case <-begin:
			case <-stream.Context().Done():
				return
			}
			if stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}) != nil {
				return
			}
		}
	}()
	return begin
}

// quiet waits for as long as a status may be behind.
func quiet(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	before := -1
	eventually(t, "no more statuses are written", func() bool {
		now := asked(t, c, "meshtimeouts", "APPLY|PATCH|PUT", "status")
		same := now == before
		before = now
		if !same {
			time.Sleep(6 * time.Second)
		}
		return same
	})
}
