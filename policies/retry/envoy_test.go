package retry_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds/envoy"
)

// trial is one conf in a real Envoy, in a virtual host of its own.
type trial struct {
	conf     *retry.Conf
	protocol api.Protocol
}

// trials are each word alone, the confs of the headers, and random ones. Pauses
// are short so that the test is.
func trials() []trial {
	var list []trial
	add := func(p api.Protocol, c *retry.Conf) {
		ms := api.Duration(time.Millisecond)
		if c.HTTP != nil {
			c.HTTP.BackOff, c.HTTP.PerTryTimeout = &retry.BackOff{BaseInterval: &ms, MaxInterval: &ms}, nil
		}
		if c.GRPC != nil {
			c.GRPC.BackOff, c.GRPC.PerTryTimeout = &retry.GRPCBackOff{BaseInterval: &ms, MaxInterval: &ms}, nil
		}
		list = append(list, trial{c, p})
	}
	for _, on := range []string{"5xx", "GatewayError", "Reset", "ResetBeforeRequest", "Retriable4xx", "ConnectFailure", "EnvoyRatelimited", "RefusedStream",
		"RetriableHeaders", "Http3PostConnectFailure", "HttpMethodGet", "404", "503"} {
		add(api.HTTP, &retry.Conf{HTTP: &retry.HTTP{NumRetries: new(uint32(2)), RetryOn: []string{on}}})
	}
	for _, on := range []string{"Canceled", "DeadlineExceeded", "Internal", "ResourceExhausted", "Unavailable"} {
		add(api.GRPC, &retry.Conf{GRPC: &retry.GRPC{NumRetries: new(uint32(2)), RetryOn: []string{on}}})
	}
	for _, m := range []policies.HeaderMatch{{Name: "x-a", Value: "a"}, {Type: "Present", Name: "x-a"}, {Type: "Absent", Name: "x-a"},
		{Type: "Prefix", Name: "x-a", Value: "a"}, {Type: "RegularExpression", Name: "x-a", Value: "a|b"}, {Type: "Prefix", Name: "x-a"}} {
		add(api.HTTP, &retry.Conf{HTTP: &retry.HTTP{RetryOn: []string{"5xx", "HttpMethodPost"}, RetriableRequestHeaders: []policies.HeaderMatch{m}}})
	}
	add(api.HTTP2, &retry.Conf{HTTP: &retry.HTTP{NumRetries: new(uint32(3)), RetryOn: []string{"Reset"},
		RetriableResponseHeaders: []policies.HeaderMatch{{Type: "RegularExpression", Name: "x-echo-attempt", Value: "[12]"}}}})
	add(api.HTTP, &retry.Conf{HTTP: &retry.HTTP{RetryOn: []string{"RetriableHeaders"}, RetriableResponseHeaders: []policies.HeaderMatch{{Name: "x-echo-attempt", Value: "1"}}}})
	for i, p := range []api.Protocol{api.HTTP, api.HTTP, api.GRPC, api.HTTP2, api.HTTP, api.GRPC, api.HTTP, api.HTTP} {
		add(p, rapid.Custom(func(t *rapid.T) *retry.Conf {
			return policytest.AnyConf(t, retry.Kind).(*retry.Conf)
		}).Filter(func(c *retry.Conf) bool { return c.HTTP != nil && c.GRPC != nil }).Example(i))
	}
	return list
}

// start runs an Envoy with all trials.
func start(t *testing.T, list []trial, port uint32) *policytest.Proxy {
	t.Helper()
	var written []policytest.Written
	for _, c := range list {
		written = append(written, policytest.Write(envoy.Place{Protocol: c.protocol}, c.conf))
	}
	return policytest.StartProxy(t, port, []*policies.Kind{retry.Kind}, written...)
}

func TestEnvoyRepeatsWhatThePlanSays(t *testing.T) {
	t.Parallel()
	backend, list := envoytest.StartBackend(t, "backend"), trials()
	proxy := start(t, list, backend.Port)
	for i, c := range list {
		for _, answer := range []string{"200", "404", "409", "429", "500", "502", "503", "504", "599", "reset",
			"grpc:0", "grpc:1", "grpc:4", "grpc:8", "grpc:13", "grpc:14", "grpc:2", "503,200", "reset,503,404"} {
			for _, request := range []struct{ method, xa string }{{"GET", ""}, {"POST", "a"}, {"GET", "ab"}, {"GET", "b"}} {
				id := fmt.Sprintf("%d/%s/%s/%s/", i, answer, request.method, request.xa)
				headers := []string{envoytest.IDHeader, id, envoytest.ScriptHeader, answer}
				if request.xa != "" {
					headers = append(headers, "x-a", request.xa)
				}
				proxy.Send(t, i, request.method, headers...)
				got, want := len(backend.Seen(id)), predict(c, answer, request.method, request.xa)
				if got != want {
					t.Errorf("%s: Envoy made %d attempts, the plan %d; conf %d %s", id, got, want, i, policytest.JSON(c.conf))
				}
			}
		}
	}
}

// predict is how many attempts the plan makes of a request.
func predict(c trial, script, method, xa string) int {
	plan, ok := c.conf.RetryPlan(c.protocol)
	request := wire.Headers{}
	if xa != "" {
		request["x-a"] = xa
	}
	if !ok || !plan.Request(method, request) {
		return 1
	}
	steps, attempt := strings.Split(script, ","), 1
	for ; attempt <= int(plan.Retries); attempt++ {
		answer := wire.Headers{"x-echo-name": "backend", "x-echo-attempt": strconv.Itoa(attempt)}
		step := steps[min(attempt, len(steps))-1]
		var again bool
		if code, is := strings.CutPrefix(step, "grpc:"); is {
			n, _ := strconv.Atoi(code)
			again = plan.GRPCStatus(uint32(n)) || plan.Status(200) || byHeaders(plan, answer)
		} else if step == "reset" {
			again = plan.Reset
		} else {
			n, _ := strconv.Atoi(step)
			again = plan.Status(uint32(n)) || byHeaders(plan, answer)
		}
		if !again {
			break
		}
	}
	return attempt
}

func byHeaders(plan timeline.RetryPlan, answer wire.Headers) bool {
	return plan.Headers != nil && plan.Headers(answer)
}

func TestEnvoyRepeatsRefusedConnectionsAsThePlanSays(t *testing.T) {
	t.Parallel()
	list := trials()
	proxy := start(t, list, envoytest.Port(t)) // nobody listens there
	for i := range list {
		proxy.Send(t, i, "POST", "x-a", "a")
	}
	stats := proxy.Stats("cluster.")
	for i, c := range list {
		want := 0
		if plan, ok := c.conf.RetryPlan(c.protocol); ok && plan.Connect && plan.Request("POST", wire.Headers{"x-a": "a"}) {
			want = int(plan.Retries)
		}
		if got := stats[fmt.Sprintf("cluster.%02d.upstream_rq_retry", i)]; got != want {
			t.Errorf("conf %d: Envoy repeated %d times, the plan %d: %s", i, got, want, policytest.JSON(c.conf))
		}
	}
}

// TestEnvoyRepeatsWhatTookTooLongAsThePlanSays: an attempt that exceeds
// perTryTimeout counts as reset.
func TestEnvoyRepeatsWhatTookTooLongAsThePlanSays(t *testing.T) {
	t.Parallel()
	const perTry = 400 * time.Millisecond // long enough for a busy machine to bring an attempt to its backend
	var group sync.WaitGroup
	defer group.Wait()
	backend, list := envoytest.StartBackend(t, "backend"), trials()
	for _, c := range list {
		short := new(api.Duration(perTry))
		if c.conf.HTTP != nil {
			c.conf.HTTP.PerTryTimeout, c.conf.HTTP.RetriableResponseHeaders = short, nil
		}
		if c.conf.GRPC != nil {
			c.conf.GRPC.PerTryTimeout = short
		}
	}
	proxy := start(t, list, backend.Port)
	for i, c := range list {
		want := 1
		plan, ok := c.conf.RetryPlan(c.protocol)
		if ok && plan.PerTry != perTry {
			t.Errorf("conf %d: %v for each attempt", i, plan.PerTry)
		}
		if ok && plan.Reset && plan.Request("POST", wire.Headers{"x-a": "a"}) {
			want = 2
		}
		id := strconv.Itoa(i)
		script := "slow:5s,200"
		if !ok {
			script = "200" // nothing bounds it
		}
		group.Go(func() {
			proxy.Send(t, i, "POST", envoytest.IDHeader, id, envoytest.ScriptHeader, script, "x-a", "a")
			if got := len(backend.Seen(id)); got != want {
				t.Errorf("conf %d: Envoy made %d attempts, the plan %d: %s", i, got, want, policytest.JSON(c.conf))
			}
		})
	}
}

// TestEnvoyCarriesOutTheMost: Envoy does all that a policy may ask for at most, and
// goes on.
func TestEnvoyCarriesOutTheMost(t *testing.T) {
	t.Parallel()
	ms := api.Duration(time.Millisecond)
	most := &retry.Conf{HTTP: &retry.HTTP{
		NumRetries: new(uint32(1000)), HostSelectionMaxAttempts: new(int64(100)), RetryOn: []string{"5xx"},
		BackOff:       &retry.BackOff{BaseInterval: &ms, MaxInterval: &ms},
		HostSelection: []retry.HostSelection{{Predicate: "OmitPreviousHosts"}, {Predicate: "OmitPreviousPriorities", UpdateFrequency: new(int32(math.MaxInt32))}},
	}}
	if err := most.Validate("conf"); err != nil {
		t.Error(err)
	}
	backend := envoytest.StartBackend(t, "backend")
	proxy := policytest.StartProxy(t, backend.Port, []*policies.Kind{retry.Kind}, policytest.Write(envoy.Place{Protocol: api.HTTP}, most))
	for range 2 {
		if got := proxy.Send(t, 0, "GET", envoytest.IDHeader, "most", envoytest.ScriptHeader, "503").StatusCode; got != 503 {
			t.Errorf("status %d", got)
		}
	}
	if got := len(backend.Seen("most")); got != 2002 {
		t.Errorf("%d attempts of two requests, want 1001 of each", got)
	}
}
