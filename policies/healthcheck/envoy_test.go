package healthcheck_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/healthcheck"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/xds/envoy"
)

// probed is a cluster, and which of its endpoints pass.
type probed struct {
	name      string
	protocol  api.Protocol
	conf      string   // of a document, beside times that are short
	endpoints []string // what each does
	healthy   int      // how many pass
	then      string   // what requests get, each once
}

var probes = []probed{
	{"a status", api.HTTP, "http: {path: /ready}", []string{"ready 200", "ready 500"}, 1, "200"},
	{"another status", api.HTTP, "http: {path: /ready, expectedStatuses: [204, 500]}", []string{"ready 204", "ready 200"}, 1, "200"},
	{"a header", api.HTTP, "http: {requestHeadersToAdd: {set: [{name: x-probe, value: a%}]}}", []string{"wants x-probe", "wants x-other"}, 1, "200"},
	{"the service's name", api.HTTP, "http: {}", []string{"wants host web", "wants host other"}, 1, "200"},
	{"HTTP/2", api.HTTP2, "http: {}", []string{"ready 200", "closed"}, 1, "200"},
	{"connections in place of requests", api.HTTP, "http: {disabled: true}, tcp: {}", []string{"ready 500", "closed"}, 1, "200"},
	{"what is received", api.HTTP, `http: {disabled: true}, tcp: {send: "GET /ready HTTP/1.1\r\nHost: a\r\n\r\n", receive: ["200 OK"]}`, []string{"ready 200", "ready 500"}, 1, "200"},
	{"gRPC", api.GRPC, "grpc: {serviceName: pay}", []string{"serving", "not serving"}, 1, ""},
	{"no block", api.HTTP, "grpc: {}", []string{"ready 200", "closed"}, 2, "200 503"},
	{"all fail, and all are used", api.HTTP, "http: {path: /ready}", []string{"ready 500", "ready 500"}, 0, "200"},
	{"all fail, and none is used", api.HTTP, "failTrafficOnPanic: true, http: {path: /ready}", []string{"ready 500", "ready 500"}, 0, "503"},
	{"all fail, without panic", api.HTTP, "healthyPanicThreshold: 0, http: {path: /ready}", []string{"ready 500"}, 0, "503"},
}

// serves is an endpoint that does what its text says.
func serves(t *testing.T, does string) uint32 {
	if does == "closed" {
		return envoytest.Port(t)
	}
	what, arg, _ := strings.Cut(does, " ")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch status, err := strconv.Atoi(arg); {
		case what == "ready" && err == nil && r.URL.Path == "/ready":
			w.WriteHeader(status)
		case what == "wants" && r.Header.Get("user-agent") == "Envoy/HC" && r.Header.Get(arg) != "a%" && "host "+r.Host != arg:
			w.WriteHeader(http.StatusInternalServerError)
		case strings.HasPrefix(r.URL.Path, "/grpc.health"):
			answer := byte(2)
			if what == "serving" {
				answer = 1
			}
			w.Header().Set("content-type", "application/grpc")
			w.Header().Set("trailer", "grpc-status")
			_, _ = w.Write([]byte{0, 0, 0, 0, 2, 8, answer}) // nobody reads it where it fails
			w.Header().Set("grpc-status", "0")
		}
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return uint32(s.Listener.Addr().(*net.TCPAddr).Port)
}

// TestEnvoyChecksEndpoints: by each way, and those that fail get nothing (spec/kinds.md 2).
func TestEnvoyChecksEndpoints(t *testing.T) {
	t.Parallel()
	var written []policytest.Written
	for _, c := range probes {
		e := policytest.Resolve(t, healthcheck.Kind, fmt.Appendf(nil, "type: MeshHealthCheck\nmesh: default\nname: p\nspec: {to: [{targetRef: {kind: Mesh}, default: {"+
			"interval: 100ms, noTrafficInterval: 100ms, timeout: 500ms, unhealthyThreshold: 1, healthyThreshold: 1, %s}}]}\n", c.conf))
		w := policytest.Write(envoy.Place{Protocol: c.protocol, Host: "web"}, e.Conf)
		for _, does := range c.endpoints {
			w.Ports = append(w.Ports, serves(t, does))
		}
		written = append(written, w)
	}
	proxy := policytest.StartProxy(t, 1, []*policies.Kind{healthcheck.Kind}, written...)
	for i, c := range probes {
		cluster := fmt.Sprintf("cluster.%02d.", i)
		stat := func(what string) int { return proxy.Stats(cluster)[cluster+what] }
		if len(written[i].Cluster.HealthChecks) > 0 {
			proxy.Until(c.name+" is asked", func() bool { return stat("health_check.attempt") >= 2*len(c.endpoints) })
		}
		if got := stat("membership_healthy"); got != c.healthy {
			t.Errorf("%s: %d endpoints are well, want %d", c.name, got, c.healthy)
		}
		if c.then == "" {
			continue
		}
		proxy.Statuses(t, i, 8, c.name, c.then)
	}
}
