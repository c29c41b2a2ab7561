package circuitbreaker_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/circuitbreaker"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/xds/envoy"
)

func write(p api.Protocol, c *circuitbreaker.Conf, ports ...uint32) policytest.Written {
	w := policytest.Write(envoy.Place{Protocol: p}, c)
	w.Ports = ports
	return w
}

func limits(l circuitbreaker.ConnectionLimits) *circuitbreaker.Conf {
	return &circuitbreaker.Conf{ConnectionLimits: &l}
}

// name is that of the n-th virtual host and cluster.
func name(n int) string { return fmt.Sprintf("%02d", n) }

// statuses are how often each status is the answer to n requests at one time.
func statuses(t *testing.T, p *policytest.Proxy, host, n int, script string) map[int]int {
	t.Helper()
	out, all, mu := map[int]int{}, sync.WaitGroup{}, sync.Mutex{}
	for i := range n {
		all.Go(func() {
			resp := p.Send(t, host, "GET", envoytest.ScriptHeader, script, envoytest.IDHeader, fmt.Sprintf("%d-%d", host, i))
			mu.Lock()
			defer mu.Unlock()
			out[resp.StatusCode]++
			if over := resp.Header.Get("x-envoy-overloaded"); resp.StatusCode == 503 && over != "" && over != "true" {
				t.Errorf("host %d: x-envoy-overloaded is %q", host, over)
			}
		})
	}
	all.Wait()
	return out
}

// TestEnvoyRefusesWhatIsOverALimit: what is under way beyond a limit fails at once (spec/kinds.md F5, F7).
func TestEnvoyRefusesWhatIsOverALimit(t *testing.T) {
	t.Parallel()
	share := func(text string, least uint32) *circuitbreaker.RetryBudget {
		p := policies.Percentage(text)
		return &circuitbreaker.RetryBudget{BudgetPercent: &p, MinRetryConcurrency: &least}
	}
	one, many := new(uint32(1)), new(uint32(100))
	trials := []struct {
		name     string
		limits   circuitbreaker.ConnectionLimits
		parallel int
		script   string
		retries  bool
		ok       int // how many are answered 200
		overflow string
	}{
		{"requests", circuitbreaker.ConnectionLimits{MaxRequests: one}, 4, "slow:700ms", false, 1, "upstream_rq_active_overflow"},
		{"connections and those that wait", circuitbreaker.ConnectionLimits{MaxConnections: one, MaxPendingRequests: one}, 5, "slow:700ms", false, 2, "upstream_rq_pending_overflow"},
		{"retries", circuitbreaker.ConnectionLimits{MaxRetries: new(uint32(2))}, 10, "503,slow:700ms", true, 2, "upstream_rq_retry_overflow"},
		{"a budget over a number", circuitbreaker.ConnectionLimits{MaxRetries: one, RetryBudget: share("100", 20)}, 10, "503,slow:700ms", true, 10, ""},
		{"a budget under a number", circuitbreaker.ConnectionLimits{MaxRetries: many, RetryBudget: share("0", 2)}, 10, "503,slow:700ms", true, 2, "upstream_rq_retry_overflow"},
	}
	var written []policytest.Written
	for _, c := range trials {
		w := write(api.HTTP, limits(c.limits))
		if c.retries {
			w.Route.GetRoute().RetryPolicy = &routev3.RetryPolicy{RetryOn: "5xx", NumRetries: wrapperspb.UInt32(1),
				RetryBackOff: &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(time.Millisecond)}}
		}
		written = append(written, w)
	}
	proxy := policytest.StartProxy(t, envoytest.StartBackend(t, "backend").Port, []*policies.Kind{circuitbreaker.Kind}, written...)
	for i, c := range trials {
		proxy.Send(t, i, "GET") // so that a connection is there
		if got := statuses(t, proxy, i, c.parallel, c.script); got[200] != c.ok || got[503] != c.parallel-c.ok {
			t.Errorf("%s: %v, want %d answers of 200", c.name, got, c.ok)
		}
		stats := proxy.Stats("cluster." + name(i) + ".")
		for _, s := range []string{"upstream_rq_active_overflow", "upstream_rq_pending_overflow", "upstream_rq_retry_overflow"} {
			if over := stats["cluster."+name(i)+"."+s]; (over > 0) != (s == c.overflow) {
				t.Errorf("%s: %s is %d", c.name, s, over)
			}
		}
	}
}

// TestEnvoyClosesConnectionsOverTheLimit: connections of TCP wait for nothing (spec/kinds.md F5).
func TestEnvoyClosesConnectionsOverTheLimit(t *testing.T) {
	t.Parallel()
	proxy := policytest.StartProxy(t, envoytest.StartGreeter(t, "hello"), []*policies.Kind{circuitbreaker.Kind},
		write(api.TCP, limits(circuitbreaker.ConnectionLimits{MaxConnections: new(uint32(1))})))
	greeted := func() (conn net.Conn, got string) {
		conn, err := net.Dial("unix", proxy.Socket+name(0))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		text := make([]byte, 16)
		n, _ := conn.Read(text)
		return conn, string(text[:n])
	}
	if _, got := greeted(); !strings.HasPrefix(got, "hello") {
		t.Fatalf("the first connection gets %q", got)
	}
	if _, got := greeted(); got != "" {
		t.Errorf("a connection over the limit gets %q", got)
	}
	if n := proxy.Stats("cluster.00.")["cluster.00.upstream_cx_overflow"]; n != 1 {
		t.Errorf("%d connections over the limit", n)
	}
}

// workload answers requests with one status, and its health with 200.
func workload(t *testing.T, status int) uint32 {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(s.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// ejection is a cluster, and what becomes of its requests.
type ejection struct {
	name      string
	conf      string // outlierDetection of a document
	endpoints []int  // what each answers; 0: it refuses connections
	ejected   bool   // that the first endpoint is
	then      string // statuses of requests after that, each once
}

var ejections = []ejection{
	{"one of two, though it is more than a tenth", "{detectors: {totalFailures: {consecutive: 3}}}", []int{500, 200}, true, "200"},
	{"none where the percentage is zero", "{maxEjectionPercent: 0, detectors: {totalFailures: {consecutive: 3}}}", []int{500, 200}, false, "200 500"},
	{"a lone one is used in panic", "{detectors: {totalFailures: {consecutive: 3}}}", []int{500}, true, "500"},
	{"a lone one without panic", "{healthyPanicThreshold: 0, detectors: {totalFailures: {consecutive: 3}}}", []int{500}, true, "503"},
	{"disabled", "{disabled: true, detectors: {totalFailures: {consecutive: 3}}}", []int{500, 200}, false, "200 500"},
	{"no detector", "{interval: 1s}", []int{500, 200}, false, "200 500"},
	{"gateway failures", "{detectors: {gatewayFailures: {consecutive: 3}}}", []int{502, 200}, true, "200"},
	{"500 is no gateway failure", "{detectors: {gatewayFailures: {consecutive: 3}}}", []int{500, 200}, false, "200 500"},
	{"a refused connection is a failure", "{detectors: {totalFailures: {consecutive: 3}}}", []int{0, 200}, true, "200"},
	{"but none of answers where errors are split", "{splitExternalAndLocalErrors: true, detectors: {totalFailures: {consecutive: 3}}}", []int{0, 200}, false, "200 503"},
	{"but one of its own", "{splitExternalAndLocalErrors: true, detectors: {localOriginFailures: {consecutive: 3}}}", []int{0, 200}, true, "200"},
	{"which needs the split", "{detectors: {localOriginFailures: {consecutive: 3}}}", []int{0, 200}, false, "200 503"},
	{"by share of failures", "{interval: 300ms, detectors: {failurePercentage: {minimumHosts: 1, requestVolume: 3, threshold: 80}}}", []int{500, 200}, true, "200"},
	{"by rate of success", `{interval: 300ms, detectors: {successRate: {minimumHosts: 2, requestVolume: 3, standardDeviationFactor: "0.1"}}}`, []int{500, 200, 200}, true, "200"},
}

// TestEnvoyLeavesOutEndpoints that fail, as each detector says (spec/kinds.md F1, F2, F4).
func TestEnvoyLeavesOutEndpoints(t *testing.T) {
	t.Parallel()
	var written []policytest.Written
	ports := map[int]uint32{0: envoytest.Port(t)}
	for _, c := range ejections {
		var list []uint32
		for _, status := range c.endpoints {
			if ports[status] == 0 || status == 200 {
				ports[status] = workload(t, status)
			}
			list = append(list, ports[status])
		}
		e := policytest.Resolve(t, circuitbreaker.Kind, fmt.Appendf(nil, "type: MeshCircuitBreaker\nmesh: default\nname: p\nspec: {to: [{targetRef: {kind: Mesh}, default: {outlierDetection: %s}}]}\n", c.conf))
		written = append(written, write(api.HTTP, e.Conf.(*circuitbreaker.Conf), list...))
	}
	proxy := policytest.StartProxy(t, 1, []*policies.Kind{circuitbreaker.Kind}, written...)
	for i, c := range ejections {
		active := func() int {
			return proxy.Stats("cluster." + name(i) + ".")["cluster."+name(i)+".outlier_detection.ejections_active"]
		}
		for range 12 {
			proxy.Send(t, i, "GET")
		}
		if c.ejected {
			proxy.Until(c.name, func() bool { return active() == 1 })
		}
		proxy.Statuses(t, i, 12, c.name, c.then)
		if (active() > 0) != c.ejected {
			t.Errorf("%s: %d are left out", c.name, active())
		}
	}
}

// TestAPassedCheckBringsNobodyBack: who fails requests and passes its health check stays left out (spec/kinds.md F20).
func TestAPassedCheckBringsNobodyBack(t *testing.T) {
	t.Parallel()
	conf := &circuitbreaker.Conf{OutlierDetection: &circuitbreaker.OutlierDetection{
		Detectors: &circuitbreaker.Detectors{TotalFailures: &circuitbreaker.Failures{Consecutive: new(uint32(3))}}}}
	var written []policytest.Written
	for _, uneject := range []bool{false, true} {
		w := write(api.HTTP, conf, workload(t, 500), workload(t, 200))
		w.Cluster.HealthChecks = []*corev3.HealthCheck{{
			Timeout: durationpb.New(time.Second), Interval: durationpb.New(100 * time.Millisecond), NoTrafficInterval: durationpb.New(100 * time.Millisecond),
			HealthyThreshold: wrapperspb.UInt32(1), UnhealthyThreshold: wrapperspb.UInt32(1),
			HealthChecker: &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{Path: "/health"}},
		}}
		if uneject { // as Envoy does by itself
			w.Cluster.OutlierDetection.SuccessfulActiveHealthCheckUnejectHost = nil
		}
		written = append(written, w)
	}
	proxy := policytest.StartProxy(t, 1, []*policies.Kind{circuitbreaker.Kind}, written...)
	stat := func(i int, what string) int {
		return proxy.Stats("cluster." + name(i) + ".")["cluster."+name(i)+"."+what]
	}
	for i := range written {
		for range 12 {
			proxy.Send(t, i, "GET")
		}
		proxy.Until("somebody is left out", func() bool { return stat(i, "outlier_detection.ejections_enforced_total") > 0 })
	}
	proxy.Until("Envoy's own brings it back", func() bool { return stat(1, "outlier_detection.ejections_active") == 0 })
	checks := stat(0, "health_check.success")
	proxy.Until("more checks pass", func() bool { return stat(0, "health_check.success") > checks+10 })
	if n := stat(0, "outlier_detection.ejections_active"); n != 1 {
		t.Errorf("%d are left out after checks that passed", n)
	}
}

// TestTheFirstThresholdOfAPriorityCounts: a second one is not heard (spec/kinds.md F6).
func TestTheFirstThresholdOfAPriorityCounts(t *testing.T) {
	t.Parallel()
	w := write(api.HTTP, limits(circuitbreaker.ConnectionLimits{MaxRequests: new(uint32(1))}))
	w.Cluster.CircuitBreakers.Thresholds = append(w.Cluster.CircuitBreakers.Thresholds, &clusterv3.CircuitBreakers_Thresholds{MaxRequests: wrapperspb.UInt32(9)})
	proxy := policytest.StartProxy(t, envoytest.StartBackend(t, "backend").Port, []*policies.Kind{circuitbreaker.Kind}, w)
	if got := statuses(t, proxy, 0, 3, "slow:500ms"); got[200] != 1 {
		t.Errorf("%v, the first says one", got)
	}
}
