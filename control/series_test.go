package control_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/weftmesh/weft/internal/envoytest"
)

// shopping is a dataplane that calls a service by a route with two rules, the second of which repeats what failed.
const shopping = `type: Dataplane
mesh: default
name: front-1
networking: {address: 127.0.0.1, inbound: [{port: %d, tags: {kuma.io/service: front, kuma.io/protocol: http}}], outbound: [{port: %d, tags: {kuma.io/service: shop}}]}
---
type: Dataplane
mesh: default
name: shop-1
networking: {address: 127.0.0.1, inbound: [{port: %d, tags: {kuma.io/service: shop, kuma.io/protocol: http}}]}
---
type: MeshHTTPRoute
mesh: default
name: versions
spec:
  to:
  - targetRef: {kind: MeshService, name: shop}
    rules:
    - {matches: [{path: {type: PathPrefix, value: /v1}}], default: {}}
    - {matches: [{path: {type: PathPrefix, value: /v2}}], default: {}}
---
{type: MeshRetry, mesh: default, name: again, spec: {targetRef: {kind: MeshHTTPRoute, name: versions, sectionName: '1'}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3, retryOn: [5xx], backOff: {baseInterval: 1ms, maxInterval: 1ms}}}}]}}
`

// scrape reads metrics of traffic with Prometheus' parser: values by name and labels, without those of the mesh,
// the caller and who is called.
func (p *plane) scrape() map[string]float64 {
	p.t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(p.want(http.StatusOK, http.MethodGet, "/metrics/traffic", "")))
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if !slices.Contains([]string{"mesh", "caller", "to"}, l.GetName()) {
					labels = append(labels, l.GetValue())
				}
			}
			of := strings.TrimSpace(name + " " + strings.Join(labels, " "))
			if f.GetType() == dto.MetricType_HISTOGRAM {
				out[of] = float64(m.GetHistogram().GetSampleCount())
				continue
			}
			out[of] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

// TestSeriesAreWhatWasSent: under load a real Envoy's requests are in the series of the control plane exactly as they
// were sent, by rule, outcome and attempts, and no value becomes less meanwhile.
func TestSeriesAreWhatWasSent(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.TrafficMetrics, c.ReportEvery = true, 2*time.Second
	p := start(t, c)
	backend, port := envoytest.StartBackend(t, "shop"), envoytest.Port(t)
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(shopping, envoytest.Port(t), port, backend.Port))
	p.runs("front-1")
	eventually(t, "its first report", func() bool {
		return strings.Contains(p.want(http.StatusOK, http.MethodGet, "/metrics", ""), "\nweft_traffic_sidecars 1\n")
	})
	send := func(path, script string, n int) {
		t.Helper()
		for i := range n {
			q := envoytest.Wire{Version: "1.1", Method: "GET", Target: path, Authority: "shop", Lines: []envoytest.Line{{Name: envoytest.ScriptHeader, Value: script}, {Name: envoytest.IDHeader, Value: fmt.Sprint(path, script, i)}}}
			count := 1
			if script == "200" { // at once
				count = n
			}
			if err := envoytest.Flood(fmt.Sprintf("127.0.0.1:%d", port), q, count, func(*http.Response) {}); err != nil {
				t.Fatal(err)
			}
			if count == n {
				return
			}
		}
	}
	const v1, v2 = "MeshHTTPRoute/versions spec.to[0].rules[0]", "MeshHTTPRoute/versions spec.to[0].rules[1]"
	labelled := func(class, rule string) string { return "weft_requests_total " + rule + " " + class }
	want := map[string]float64{
		labelled("ok", v1): 3000, labelled("failed", v1): 40 + 10, labelled("denied", v1): 20, labelled("ok", v2): 60, labelled("failed", v2): 0,
		labelled("ok", " "): 200, "weft_retries_total " + v1: 0, "weft_retries_total " + v2: 120, "weft_request_seconds " + v1: 3070, "weft_request_seconds " + v2: 60,
		"weft_request_causes_total MeshHTTPRoute/versions UR reset by the service": 10, "weft_request_series": 4,
	}
	before := p.scrape()
	look := func() map[string]float64 {
		t.Helper()
		now := p.scrape()
		for name, n := range before {
			if now[name] < n {
				t.Errorf("%s was %v and is %v", name, n, now[name])
			}
		}
		before = now
		return now
	}
	for range 10 {
		send("/v1", "200", 300)
		look()
	}
	send("/v1", "reset", 10) // before more fail in a second than have lines
	send("/v1", "500", 40)
	send("/v1", "429", 20)
	look()
	send("/v2", "503,503,200", 60)
	send("/else", "200", 200)
	wrong := []string{"nothing was told"}
	for end := time.Now().Add(time.Minute); len(wrong) > 0 && time.Now().Before(end); time.Sleep(200 * time.Millisecond) { // histograms come later than counters
		wrong = nil
		now := look()
		for name, n := range want {
			if now[name] != n {
				wrong = append(wrong, fmt.Sprintf("%s is %v, want %v", name, now[name], n))
			}
		}
	}
	for _, w := range wrong {
		t.Error(w)
	}
	if t.Failed() {
		t.Log(before)
	}
}
