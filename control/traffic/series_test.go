package traffic_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/weftmesh/weft/api"
	control "github.com/weftmesh/weft/control/traffic"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
)

// series reads what a collector serves with Prometheus' own parser: values by name and labels, and of each family
// its type.
func series(t *testing.T, h http.Handler) (values map[string]float64, families map[string]*dto.MetricFamily) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics/traffic", nil))
	if got := w.Header().Get("Content-Type"); expfmt.ResponseFormat(w.Header()).FormatType() != expfmt.TypeTextPlain {
		t.Fatalf("it answers %s", got)
	}
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	values = map[string]float64{}
	put := func(name string, m *dto.Metric, n float64, more ...string) {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		slices.Sort(labels)
		name += " " + strings.Join(append(labels, more...), " ")
		if _, twice := values[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		values[strings.TrimSpace(name)] = n
	}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				put(name, m, m.GetCounter().GetValue())
			case dto.MetricType_HISTOGRAM:
				put(name+"_count", m, float64(m.GetHistogram().GetSampleCount()))
				for _, b := range m.GetHistogram().GetBucket() {
					put(name, m, float64(b.GetCumulativeCount()), fmt.Sprint("le=", b.GetUpperBound()))
				}
			default:
				put(name, m, m.GetGauge().GetValue())
			}
		}
	}
	return values, families
}

// TestSeries: what sidecars report is read by Prometheus' parser with the labels of routes and rules, and goes on
// growing whatever becomes of the sidecars that told it.
func TestSeries(t *testing.T) {
	p := newPlane(t, documents)
	if p.Series() != nil {
		t.Fatal("series that nobody keeps")
	}
	p.KeepTotals()
	v1 := p.slot(t, 0)
	told := report("web", &attach.Slot{Slot: v1, Completed: 30, Failed: 3, Denied: 2, Retried: 4, Durations: []uint32{10, 20},
		Causes: []*attach.Cause{{Flags: "UT", Details: "response_timeout", Status: 504, Count: 3}}}, &attach.Slot{Slot: p.slot(t, -1), Completed: 5})
	told.Tables[0].Others = &attach.Slot{Completed: 9}
	for range 2 { // the agent begins again, and its Envoy
		p.Stream(front)(told)
		p.now = p.now.Add(20 * time.Minute)
	}
	values, families := series(t, p.Series())
	const of = " caller=front %smesh=default route=MeshHTTPRoute/versions rule=spec.to[0].rules[0] to=web"
	want := map[string]float64{"weft_request_series": 4, "weft_request_series_others_total": 0,
		"weft_request_causes_total caller=front cause=request timeout flag=UT mesh=default route=MeshHTTPRoute/versions to=web": 6}
	for class, n := range map[string]float64{"ok": 50, "failed": 6, "denied": 4} {
		want["weft_requests_total"+fmt.Sprintf(of, "class="+class+" ")] = n
	}
	whole := fmt.Sprintf(of, "")
	want["weft_retries_total"+whole], want["weft_request_seconds_count"+whole] = 8, 60
	for le, n := range map[string]float64{"0.005": 20, "0.01": 60, "0.025": 60, "0.05": 60, "0.1": 60, "0.25": 60, "1": 60, "+Inf": 60} {
		want["weft_request_seconds"+whole+" le="+le] = n
	}
	for name, n := range want {
		if got, there := values[name]; !there || got != n {
			t.Errorf("%s is %v, want %v", name, got, n)
		}
	}
	if n := values["weft_requests_total caller=front class=ok mesh=default route=others rule=others to=web"]; n != 18 {
		t.Errorf("%v requests are of rules that were told as a sum", n)
	}
	if n := values["weft_requests_total caller=front class=ok mesh=default route= rule= to=web"]; n != 10 {
		t.Errorf("%v requests are of no rule: %v", n, values)
	}
	for _, f := range traffic.Families {
		got := families[f.Name]
		if got == nil || strings.ToLower(got.GetType().String()) != f.Type || got.GetHelp() != f.Help {
			t.Errorf("%s is served as %v", f.Name, got)
			continue
		}
		for _, m := range got.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName())
			}
			if !slices.Equal(labels, f.Labels) {
				t.Errorf("%s has labels %v, and says %v", f.Name, labels, f.Labels)
			}
		}
	}
}

// TestSeriesHaveAnyNames: whatever a sidecar says why requests failed, a reader of the answer gets all series.
func TestSeriesHaveAnyNames(t *testing.T) {
	p := newPlane(t, documents)
	p.KeepTotals()
	const flags = "a\"b\\c\nd\xffe}{,="
	p.Stream(front)(report("web", &attach.Slot{Slot: p.slot(t, 0), Completed: 1, Causes: []*attach.Cause{{Flags: flags, Details: "x", Count: 1}}}))
	values, _ := series(t, p.Series())
	if n := values["weft_request_causes_total caller=front cause=a\"b\\c\nd\uFFFDe}{,= x flag=a\"b\\c\nd\uFFFDe}{,= mesh=default route=MeshHTTPRoute/versions to=web"]; n != 1 {
		t.Errorf("%v", values)
	}
}

// TestSeriesAreCompressed where who asks takes that.
func TestSeriesAreCompressed(t *testing.T) {
	p := newPlane(t, documents)
	p.KeepTotals()
	for accepts, want := range map[string]bool{"": false, "gzip": true, "br, gzip;q=0.5": true, "gzip; q=0": false, "identity": false} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", accepts)
		p.Series().ServeHTTP(w, r)
		body := io.Reader(w.Body)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("%q: compressed %v", accepts, got)
		} else if got {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		if text, err := io.ReadAll(body); err != nil || !strings.HasSuffix(string(text), "weft_request_series_others_total 0\n") {
			t.Errorf("%q: %q %v", accepts, text, err)
		}
	}
}

// discarded counts what it is written.
type discarded struct {
	http.ResponseWriter
	n int
}

func (d *discarded) Header() http.Header               { return http.Header{} }
func (d *discarded) WriteHeader(int)                   {}
func (d *discarded) Write(p []byte) (n int, err error) { d.n += len(p); return len(p), nil }

// BenchmarkSeries is an answer with as many series as there may be: how long it takes and is, and what it needs beside
// what is kept, which has a bound.
func BenchmarkSeries(b *testing.B) {
	const most = 8 << 20
	c := control.New(func(api.Ref) (*effective.Resolved, bool) { return nil, false }, time.Now, control.Often, nil)
	c.KeepTotals()
	for i := range traffic.MostTotals {
		c.CountForTest(traffic.Service{Mesh: "default", Namespace: fmt.Sprint("team-", i%50), Name: fmt.Sprint("frontend-", i/20)}, traffic.Service{Mesh: "default", ID: fmt.Sprint("catalog-", i/20%300, ".shop:8080")},
			traffic.Counted{Rule: traffic.Rule{Key: "k", Origin: &api.Origin{Ref: api.Ref{Kind: "MeshHTTPRoute", Namespace: "shop", Name: fmt.Sprint("catalog-canary-", i%20)}, Field: "spec.to[0].rules[1]"}},
				Counts: traffic.Counts{Completed: 1, Durations: [8]uint32{1}}, Causes: []traffic.CountedCause{{RequestCause: traffic.RequestCause{Flags: "UF"}, Count: 1}}})
	}
	for _, accepts := range []string{"", "gzip"} {
		b.Run("accepts "+accepts, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Accept-Encoding", accepts)
			var w discarded
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rounds := 0
			for b.Loop() {
				w.n = 0
				c.Series().ServeHTTP(&w, r)
				rounds++
			}
			runtime.ReadMemStats(&after)
			each := (after.TotalAlloc - before.TotalAlloc) / uint64(rounds)
			b.ReportMetric(float64(w.n)/(1<<20), "MB/answer")
			if each > most {
				b.Errorf("an answer needs %d bytes beside what is kept, at most %d are promised", each, most)
			}
		})
	}
}
