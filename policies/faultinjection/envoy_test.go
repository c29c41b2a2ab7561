package faultinjection_test

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/faultinjection"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/xds/envoy"
)

// conf is the conf of a document with those faults.
func conf(t *testing.T, faults string) policies.Conf {
	t.Helper()
	return policytest.Resolve(t, faultinjection.Kind, fmt.Appendf(nil, "type: MeshFaultInjection\nmesh: default\nname: p\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: [%s]}}]}\n", faults)).Conf
}

// answered is what became of requests: status, that of gRPC, whether it waited, and how many came so.
type answered map[string]int

const wait = 400 * time.Millisecond

// together is how many requests are under way at one time.
const together = 16

// ask sends n requests to conf i and says what became of each.
func ask(t *testing.T, proxy *policytest.Proxy, backend *envoytest.Backend, i, n int, headers ...string) answered {
	t.Helper()
	said := make([]string, n)
	var group sync.WaitGroup
	for from := range min(together, n) {
		group.Go(func() {
			for k := from; k < n; k += together {
				said[k] = askOnce(t, proxy, backend, i, k, headers)
			}
		})
	}
	group.Wait()
	out := answered{}
	for _, text := range said {
		out[text]++
	}
	return out
}

func askOnce(t *testing.T, proxy *policytest.Proxy, backend *envoytest.Backend, i, k int, headers []string) string {
	id := fmt.Sprintf("%d-%d", i, k)
	began := time.Now()
	resp := proxy.Send(t, i, "GET", append(slices.Clone(headers), envoytest.IDHeader, id)...)
	text := fmt.Sprint(resp.StatusCode)
	if grpc := cmp.Or(resp.Header.Get("grpc-status"), resp.Trailer.Get("grpc-status")); grpc != "" {
		text += " grpc " + grpc
	}
	if took := time.Since(began) + wait/20; took >= wait { // timers of Envoy may be that early
		text += fmt.Sprintf(" waited %d", took/wait)
	}
	if len(backend.Seen(id)) == 0 {
		text += " unsent"
	}
	return text
}

// table are confs, what is asked, and what becomes of it: shares of all, or one word for each request.
var table = []struct {
	name, faults string
	action       any      // of the route; nil forwards
	headers      []string // of requests
	n            int      // requests
	want         map[string]float64
}{
	{name: "nothing", faults: "", n: 3, want: map[string]float64{"200": 1}},
	{name: "0 % is off", faults: "{abort: {httpStatus: 500, percentage: 0}, delay: {value: 400ms, percentage: 0}}", n: 3, want: map[string]float64{"200": 1}},
	{name: "F9: an abort reaches nobody", faults: "{abort: {httpStatus: 503, percentage: 100}}", n: 3, want: map[string]float64{"503 unsent": 1}},
	{name: "any status", faults: "{abort: {httpStatus: 599, percentage: 100}}", n: 2, want: map[string]float64{"599 unsent": 1}},
	{name: "a delay", faults: "{delay: {value: 400ms, percentage: 100}}", n: 2, want: map[string]float64{"200 waited 1": 1}},
	{name: "F8: the delay comes first", faults: "{abort: {httpStatus: 503, percentage: 100}, delay: {value: 400ms, percentage: 100}}", n: 2, want: map[string]float64{"503 waited 1 unsent": 1}},
	{name: "F8: both are drawn independently", faults: "{abort: {httpStatus: 503, percentage: 50}, delay: {value: 400ms, percentage: 50}}", n: 160,
		want: map[string]float64{"200": 0.25, "200 waited 1": 0.25, "503 unsent": 0.25, "503 waited 1 unsent": 0.25}},
	{name: "F8: several filters act in order", faults: "{abort: {httpStatus: 500, percentage: 50}}, {abort: {httpStatus: 503, percentage: 50}}", n: 400,
		want: map[string]float64{"500 unsent": 0.5, "503 unsent": 0.25, "200": 0.25}},
	{name: "delays add up", faults: "{delay: {value: 400ms, percentage: 100}}, {delay: {value: 400ms, percentage: 100}}", n: 2, want: map[string]float64{"200 waited 2": 1}},
	{name: "more filters than all managers have", faults: strings.Repeat("{delay: {value: 1ms, percentage: 100}}, ", 5) + "{abort: {httpStatus: 418, percentage: 100}}", n: 2,
		want: map[string]float64{"418 unsent": 1}},
	{name: "F8: on a redirect", faults: "{abort: {httpStatus: 503, percentage: 100}}", action: &routev3.Route_Redirect{Redirect: &routev3.RedirectAction{}}, n: 2,
		want: map[string]float64{"503 unsent": 1}},
	{name: "F8: a redirect that waits", faults: "{delay: {value: 400ms, percentage: 100}}", action: &routev3.Route_Redirect{Redirect: &routev3.RedirectAction{}}, n: 2,
		want: map[string]float64{"301 waited 1 unsent": 1}},
	{name: "F8: on a direct answer", faults: "{abort: {httpStatus: 503, percentage: 100}}", action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 204}}, n: 2,
		want: map[string]float64{"503 unsent": 1}},
	{name: "F8: a direct answer that waits", faults: "{delay: {value: 400ms, percentage: 100}}", action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 204}}, n: 2,
		want: map[string]float64{"204 waited 1 unsent": 1}},
	{name: "F9: gRPC 503", faults: "{abort: {httpStatus: 503, percentage: 100}}", headers: []string{"content-type", "application/grpc"}, n: 2, want: map[string]float64{"200 grpc 14 unsent": 1}},
	{name: "F9: gRPC 500", faults: "{abort: {httpStatus: 500, percentage: 100}}", headers: []string{"content-type", "application/grpc"}, n: 2, want: map[string]float64{"200 grpc 2 unsent": 1}},
	{name: "F9: gRPC 403", faults: "{abort: {httpStatus: 403, percentage: 100}}", headers: []string{"content-type", "application/grpc"}, n: 2, want: map[string]float64{"200 grpc 7 unsent": 1}},
}

// TestEnvoyInjects: what becomes of requests under each conf is what spec/kinds.md F8 and F9 say, and what the
// simulator is told of it.
func TestEnvoyInjects(t *testing.T) {
	t.Parallel()
	backend := envoytest.StartBackend(t, "backend")
	var written []policytest.Written
	for _, c := range table {
		w := policytest.Write(envoy.Place{Protocol: api.HTTP}, conf(t, c.faults))
		switch a := c.action.(type) {
		case *routev3.Route_Redirect:
			w.Route.Action = a
		case *routev3.Route_DirectResponse:
			w.Route.Action = a
		}
		written = append(written, w)
	}
	proxy := policytest.StartProxy(t, backend.Port, []*policies.Kind{faultinjection.Kind}, written...)
	for i, c := range table {
		got := ask(t, proxy, backend, i, c.n, c.headers...)
		for text, share := range c.want {
			// Six standard deviations: one false alarm in half a billion.
			n := float64(c.n)
			if off := math.Abs(float64(got[text]) - share*n); off > 6*math.Sqrt(n*share*(1-share)) {
				t.Errorf("%s: %d of %d are %q, want %.0f: %v", c.name, got[text], c.n, text, share*n, got)
			}
		}
		for text := range got {
			if c.want[text] == 0 {
				t.Errorf("%s: %d of %d are %q: %v", c.name, got[text], c.n, text, got)
			}
		}
	}
}

// TestFaultsAreOutsideTimeoutsAndRetries: by the caller's own proxy an abort is not repeated, and a delay is no part of
// what a timeout bounds (spec/kinds.md F9).
func TestFaultsAreOutsideTimeoutsAndRetries(t *testing.T) {
	t.Parallel()
	backend := envoytest.StartBackend(t, "backend")
	abort := policytest.Write(envoy.Place{Protocol: api.HTTP}, conf(t, "{abort: {httpStatus: 503, percentage: 100}}"))
	abort.Route.GetRoute().RetryPolicy = &routev3.RetryPolicy{RetryOn: "5xx"}
	late := policytest.Write(envoy.Place{Protocol: api.HTTP}, conf(t, "{delay: {value: 600ms, percentage: 100}}"))
	late.Route.GetRoute().Timeout.Seconds, late.Route.GetRoute().Timeout.Nanos = 0, 200_000_000
	proxy := policytest.StartProxy(t, backend.Port, []*policies.Kind{faultinjection.Kind}, abort, late)
	if got := ask(t, proxy, backend, 0, 2); got["503 unsent"] != 2 {
		t.Errorf("aborted: %v", got)
	}
	if stats := proxy.Stats("cluster.00.upstream_rq_total"); stats["cluster.00.upstream_rq_total"] != 0 {
		t.Errorf("%v", stats)
	}
	if resp := proxy.Send(t, 1, "GET"); resp.StatusCode != http.StatusOK {
		t.Errorf("%d after a delay longer than the timeout", resp.StatusCode)
	}
}

// TestBandwidthIsInBits: Envoy's limit_kbps is KiB a second (spec/kinds.md F10); a document says bits.
func TestBandwidthIsInBits(t *testing.T) {
	t.Parallel()
	const kib = 200
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, kib<<10)) // who asks sees a short body
	}))
	t.Cleanup(backend.Close)
	port, err := strconv.ParseUint(backend.URL[strings.LastIndexByte(backend.URL, ':')+1:], 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	var written []policytest.Written
	for _, limit := range []string{"820kbps", "82 Mbps"} { // 100 KiB a second, and 100 times that
		written = append(written, policytest.Write(envoy.Place{Protocol: api.HTTP}, conf(t, "{responseBandwidth: {limit: "+limit+", percentage: 100}}")))
	}
	proxy := policytest.StartProxy(t, uint32(port), []*policies.Kind{faultinjection.Kind}, written...)
	for i, c := range []struct{ least, most time.Duration }{{1600 * time.Millisecond, 10 * time.Second}, {0, 1200 * time.Millisecond}} {
		began := time.Now()
		proxy.Send(t, i, "GET")
		if took := time.Since(began); took < c.least || took > c.most {
			t.Errorf("limit %d: %d KiB took %v", i, kib, took)
		}
	}
}

// TestEnvoyRefusesWhatWeftDoes: what Envoy would refuse weft refuses before (spec/kinds.md F10).
func TestEnvoyRefusesWhatWeftDoes(t *testing.T) {
	t.Parallel()
	status, limit, all := uint32(503), faultinjection.Bandwidth("8kbps"), policies.Percentage("100")
	delay := api.Duration(time.Second)
	for name, change := range map[string]func(*faultinjection.Fault){
		"as it is":   func(*faultinjection.Fault) {},
		"status 199": func(f *faultinjection.Fault) { f.Abort.HTTPStatus = new(uint32(199)) },
		"status 600": func(f *faultinjection.Fault) { f.Abort.HTTPStatus = new(uint32(600)) },
		"no delay":   func(f *faultinjection.Fault) { f.Delay.Value = new(api.Duration(0)) },
	} {
		f := faultinjection.Fault{
			Abort: &faultinjection.Abort{HTTPStatus: &status, Percentage: &all}, Delay: &faultinjection.Delay{Value: &delay, Percentage: &all},
			ResponseBandwidth: &faultinjection.ResponseBandwidth{Limit: &limit, Percentage: &all},
		}
		change(&f)
		c := &faultinjection.Conf{HTTP: []faultinjection.Fault{f}}
		mine := c.Validate("conf")
		theirs := envoytest.Validate(t, policytest.Bootstrap(t, envoytest.Socket(t), "127.0.0.1", 1, []*policies.Kind{faultinjection.Kind}, policytest.Write(envoy.Place{Protocol: api.HTTP}, c)))
		if (mine == nil) != (theirs == nil) || (mine == nil) != (name == "as it is") {
			t.Errorf("%s: weft %v, Envoy %v", name, mine, theirs)
		}
	}
}

// TestHostsSwitchFiltersOn: where a route of a host has faults, the filters are on for all its routes, and another one
// meets none.
func TestHostsSwitchFiltersOn(t *testing.T) {
	t.Parallel()
	c := conf(t, "{abort: {httpStatus: 503, percentage: 100}}, {delay: {value: 1s, percentage: 0}}, {delay: {value: 1s, percentage: 1}}").(*faultinjection.Conf)
	w, other := policytest.Write(envoy.Place{Protocol: api.HTTP}, c), policytest.Write(envoy.Place{Protocol: api.HTTP})
	host := &routev3.VirtualHost{Name: "h", Routes: []*routev3.Route{w.Route, other.Route}}
	c.WriteHost(host, []envoy.HostRoute{{Route: w.Route}})
	var names []string
	for name := range host.TypedPerFilterConfig {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"weft.fault.0", "weft.fault.2"}) || len(other.Route.TypedPerFilterConfig) > 0 {
		t.Errorf("%q", names)
	}
}
