package telemetryload

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/inspect/web/requests"
	"github.com/weftmesh/weft/internal/envoytest"
)

// outcome is how requests for a path end, how many there are of a million, and how many are sent at a time.
type outcome struct {
	path           string
	status         int
	requests, each int
	failed         bool
	retried        bool   // all that are answered with status; others found too many retries under way
	cause          string // why those that are not retried end, as lines of a sample say
}

var outcomes = []outcome{
	{path: "/good", status: 200, requests: 880_000, each: 22_000},
	{path: "/bad", status: 500, requests: 60_000, each: 1500, failed: true},
	{path: "/again", status: 200, requests: 40_000, each: 1000, retried: true, cause: "via_upstream"},
	{path: "/nobody", status: 503, requests: 20_000, each: 500, failed: true, cause: "no_healthy_upstream"},
}

const millionRules = `type: MeshHTTPRoute
mesh: default
name: known
spec:
  to:
    - targetRef: {kind: MeshService, name: app}
      rules:
        - {matches: [{path: {type: Exact, value: /good}}], default: {}}
        - {matches: [{path: {type: Exact, value: /bad}}], default: {}}
        - {matches: [{path: {type: Exact, value: /again}}], default: {}}
        - {matches: [{path: {type: Exact, value: /nobody}}], default: {backendRefs: [{kind: MeshServiceSubset, name: app, tags: {version: none}}]}}
---
type: MeshRetry
mesh: default
name: again
spec:
  to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1, retryOn: [Retriable4xx], backOff: {baseInterval: 1ms, maxInterval: 1ms}}}}]
`

// TestMillion sends a million requests of which it knows how they end through a sidecar: what Envoy counts by itself
// is told exactly, by rule, while sidecar and control plane live; what comes from lines, of which there is a sample,
// within a tenth, and marked.
func TestMillion(t *testing.T) {
	if os.Getenv("REQUIRE_LONG") == "" {
		t.Skip("REQUIRE_LONG is not set: `make long` runs tests that take long")
	}
	p := build(t)
	api, xds := p.controlPlane(t)
	post(t, "http://"+api+"/_apply", "type: Mesh\nname: default\n")
	s := newSidecar(t, p, api, xds, "default", serve(t, knownOutcomes()))
	post(t, "http://"+api+"/_apply", millionRules)
	for _, o := range outcomes {
		until(t, o.path+" has its rule", func() bool { return status(strings.Replace(s.url, "/v1/items?q=1", o.path, 1)) == o.status })
	}
	tell := func() map[string]traffic.Item { return toldByRule(t, api) }
	until(t, "nothing is under way", settled(tell))
	before := tell()
	answered := sendMillion(t, s)
	until(t, "all are told", func() bool { return count(tell()["/good"]).Requests-count(before["/good"]).Requests >= 880_000 })
	until(t, "nothing is under way", settled(tell))
	after := tell()
	for _, o := range outcomes {
		o.check(t, before[o.path], after[o.path], answered[o.path])
	}
}

// knownOutcomes answers as the path says; /again with 409 first.
func knownOutcomes() http.Handler {
	var asked sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		switch r.URL.Path {
		case "/bad":
			w.WriteHeader(http.StatusInternalServerError)
		case "/again":
			if _, again := asked.LoadAndDelete(id); !again {
				asked.Store(id, true)
				w.WriteHeader(http.StatusConflict)
			}
		}
	})
}

// sendMillion returns how many requests for each path were answered with each status.
func sendMillion(t *testing.T, s *sidecar) map[string]map[int]int {
	t.Helper()
	address := strings.TrimPrefix(strings.TrimSuffix(s.url, "/v1/items?q=1"), "http://")
	answered := map[string]map[int]int{}
	began := time.Now()
	for range 40 {
		for _, o := range outcomes {
			if answered[o.path] == nil {
				answered[o.path] = map[int]int{}
			}
			err := envoytest.Flood(address, envoytest.Wire{Version: "1.1", Method: http.MethodGet, Target: o.path, Authority: "app"}, o.each, func(r *http.Response) { answered[o.path][r.StatusCode]++ })
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("a million requests in %v: %v", time.Since(began).Round(time.Second), answered)
	return answered
}

// check holds what is told of the requests for a path against what was sent.
func (o *outcome) check(t *testing.T, before, after traffic.Item, answered map[int]int) {
	t.Helper()
	was, is := count(before), count(after)
	if got := is.Requests - was.Requests; got != uint64(o.requests) {
		t.Errorf("%s: %d requests are told, %d were sent", o.path, got, o.requests)
	}
	failed := 0
	if o.failed {
		failed = o.requests
	}
	if got := is.Failed - was.Failed; got != uint64(failed) {
		t.Errorf("%s: %d failed requests are told of %d", o.path, got, failed)
	}
	retried := map[bool]float64{true: float64(answered[o.status])}[o.retried]
	if got := of(after, after.Retried) - of(before, before.Retried); math.Abs(got-retried) > 0.5 {
		t.Errorf("%s: %f are told as retried of %f", o.path, got, retried)
	}
	if !o.retried && len(answered) != 1 || answered[o.status] == 0 {
		t.Errorf("%s was answered with %v", o.path, answered)
	}
	o.checkCauses(t, after, float64(is.Requests)-retried)
}

// checkCauses holds the one cause of a rule against how many requests ended by it.
func (o *outcome) checkCauses(t *testing.T, told traffic.Item, want float64) {
	t.Helper()
	for _, c := range told.Causes {
		got := of(told, c.PerSecond)
		t.Logf("%s: %s %s %.0f of %.0f, from a sample: %v", o.path, c.Flags, c.Details, got, want, c.Approximate)
		if c.Details != o.cause || !c.Approximate || math.Abs(got-want) > want/10 {
			t.Errorf("%s: %s %s is told of %.0f of %.0f, from a sample: %v", o.path, c.Flags, c.Details, got, want, c.Approximate)
		}
	}
	if o.cause != "" && len(told.Causes) == 0 {
		t.Errorf("%s: no cause is told", o.path)
	}
}

// of is how many requests a rate of them stands for.
func of(i traffic.Item, perSecond float64) float64 {
	if i.PerSecond == 0 {
		return 0
	}
	return perSecond / i.PerSecond * float64(i.Requests)
}

// count is what all minutes have.
func count(i traffic.Item) (all traffic.MinuteCounts) {
	for _, m := range i.Minutes {
		all.Requests += m.Requests
		all.Failed += m.Failed
	}
	return all
}

// settled reports whether two looks in a row, more than a report apart, have the same.
func settled(tell func() map[string]traffic.Item) func() bool {
	return func() bool {
		first := fmt.Sprint(counts(tell()))
		time.Sleep(12 * time.Second)
		return first == fmt.Sprint(counts(tell()))
	}
}

func counts(all map[string]traffic.Item) map[string]uint64 {
	out := map[string]uint64{}
	for path, i := range all {
		out[path] = count(i).Requests
	}
	return out
}

// toldByRule is what is told of each rule, by the path that it takes.
func toldByRule(t *testing.T, api string) map[string]traffic.Item {
	t.Helper()
	resp, err := http.Get("http://" + api + "/meshes/default/_traffic?by=rule&window=15m&minutes=true")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var a requests.Answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	out := map[string]traffic.Item{}
	for _, i := range a.Items {
		for n, o := range outcomes {
			if i.Rule == fmt.Sprintf("spec.to[0].rules[%d]", n) {
				out[o.path] = i
			}
		}
	}
	return out
}
