package traffic_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/traffic"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func dataplane(name string) api.Ref { return api.Ref{Kind: api.KindDataplane, Mesh: "m", Name: name} }

func service(name string) traffic.Service {
	return traffic.Service{Mesh: "m", Namespace: name, Name: name, ID: name + ":80"}
}

func rule(n int) traffic.Rule {
	if n < 0 {
		return traffic.Rule{Key: "rest"}
	}
	return traffic.Rule{Key: fmt.Sprint("key ", n), Origin: &api.Origin{
		Ref: api.Ref{Kind: "MeshHTTPRoute", Mesh: "m", Name: "r", Namespace: "front"}, RuleName: fmt.Sprint("rule", n)}}
}

func counted(n int, completed, failed uint32) traffic.Counted {
	return traffic.Counted{Rule: rule(n), Counts: traffic.Counts{Completed: completed, Failed: failed, Durations: [8]uint32{1: completed}}}
}

func report(s *traffic.Sums, at time.Time, dp, from, to string, list ...traffic.Counted) {
	s.Report(at, dataplane(dp), service(from), traffic.Step, map[traffic.Service][]traffic.Counted{service(to): list}, nil)
}

func query(by traffic.By) traffic.TrafficQuery {
	return traffic.TrafficQuery{Mesh: "m", By: by, Window: traffic.Minute}
}

func sumOf(p traffic.PartialSums) (requests uint64, perSecond float64) {
	for _, i := range p.Items {
		requests, perSecond = requests+i.Requests, perSecond+i.PerSecond
	}
	return requests, perSecond
}

// TestEachSumIsOfAllRequests is that sums by service, caller, route and rule are of the same requests,
// and that two replicas answer together what one would.
func TestEachSumIsOfAllRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, two := traffic.New(start), [2]*traffic.Sums{traffic.New(start), traffic.New(start)}
		var all uint64
		now := start
		for range rapid.IntRange(1, 30).Draw(t, "reports") {
			now = now.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "seconds")) * 500 * time.Millisecond)
			which := rapid.IntRange(0, 3).Draw(t, "sidecar")
			from, to := "front", rapid.SampledFrom([]string{"web", "db"}).Draw(t, "to")
			if which > 1 {
				from = "other"
			}
			var list []traffic.Counted
			for n := range rapid.IntRange(0, 3).Draw(t, "rules") {
				c := rapid.Uint32Range(0, 50).Draw(t, "completed")
				list = append(list, counted(n-1, c, c/2))
				all += uint64(c)
			}
			name := fmt.Sprint("dp", which)
			report(one, now, name, from, to, list...)
			report(two[which%2], now, name, from, to, list...)
		}
		now = now.Add(traffic.Step)
		for _, by := range []traffic.By{traffic.ByService, traffic.ByCaller, traffic.ByRoute, traffic.ByRule} {
			q := query(by)
			alone, both := one.Answer(now, q), traffic.Merge(two[0].Answer(now, q), two[1].Answer(now, q))
			if n, _ := sumOf(alone); n != all {
				t.Fatalf("by %s there are %d of %d requests", by, n, all)
			}
			if alone.Sidecars != both.Sidecars {
				t.Fatalf("%d sidecars report to one, %d to two", alone.Sidecars, both.Sidecars)
			}
			slices.SortFunc(both.Items, func(a, b traffic.Item) int { return index(alone, a.Key) - index(alone, b.Key) })
			for i := range max(len(alone.Items), len(both.Items)) {
				if a, b := alone.Items[i], both.Items[i]; a.Key != b.Key || a.Requests != b.Requests || !slices.Equal(a.Latency.Counts, b.Latency.Counts) {
					t.Fatalf("by %s one answers %+v, two %+v", by, a, b)
				}
			}
		}
	})
}

func index(p traffic.PartialSums, key traffic.Key) int {
	return slices.IndexFunc(p.Items, func(i traffic.Item) bool { return i.Key == key })
}

// TestRates is that a rate is that of all sidecars of a caller, whenever each reports, and of the time
// that is known: a gap is no time without requests.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		name     string
		sidecars int
		silent   func(second int) bool
	}{
		{"one sidecar", 1, nil},
		{"ten sidecars", 10, nil},
		{"a gap of half a minute", 10, func(s int) bool { return s >= 150 && s < 180 }},
		{"nobody reported for long", 3, func(s int) bool { return s < 165 }},
	} {
		s, now := traffic.New(start), start
		for second := range 200 {
			now = start.Add(time.Duration(second) * time.Second)
			for n := range c.sidecars {
				if second%10 == n%10 && (c.silent == nil || !c.silent(second)) {
					report(s, now, fmt.Sprint(n), "front", "web", counted(0, 70, 7))
				}
			}
		}
		want := 7 * float64(c.sidecars)
		for _, window := range []time.Duration{traffic.Minute, traffic.Quarter} {
			q := query(traffic.ByRule)
			q.Window = window
			p := s.Answer(now, q)
			if len(p.Items) != 1 || math.Abs(p.Items[0].PerSecond/want-1) > 0.1 || math.Abs(p.Items[0].Failed/want-0.1) > 0.02 {
				t.Errorf("%s: in %v the answer is %+v; want %v a second", c.name, window, p.Items, want)
			}
		}
	}
}

// TestRatesOfFrequentReports is that a rate is right however often a sidecar reports.
func TestRatesOfFrequentReports(t *testing.T) {
	for _, every := range []time.Duration{2 * time.Second, 5 * time.Second, 20 * time.Second, 40 * time.Second} {
		s := traffic.New(start)
		for at := time.Duration(0); at < 5*time.Minute; at += every {
			list := map[traffic.Service][]traffic.Counted{service("web"): {counted(0, uint32(every/time.Second)*9, 0)}}
			s.Report(start.Add(at), dataplane("dp"), service("front"), every, list, nil)
		}
		if _, rate := sumOf(s.Answer(start.Add(5*time.Minute), query(traffic.ByRule))); math.Abs(rate/9-1) > 0.01 {
			t.Errorf("reported every %v the rate of 9 is %v", every, rate)
		}
	}
}

// TestWindows is that a window ends: of the minute nothing is left after one, of the quarter of an hour
// after that, and then the sums keep nothing.
func TestWindows(t *testing.T) {
	s := traffic.New(start)
	report(s, start, "dp", "front", "web", counted(0, 5, 0))
	for _, c := range []struct {
		after           time.Duration
		minute, quarter uint64
	}{{traffic.Step, 5, 5}, {50 * time.Second, 5, 5}, {80 * time.Second, 0, 5}, {13 * time.Minute, 0, 5}, {16 * time.Minute, 0, 0}} {
		for window, want := range map[time.Duration]uint64{traffic.Minute: c.minute, traffic.Quarter: c.quarter} {
			q := query(traffic.ByService)
			q.Window = window
			if n, _ := sumOf(s.Answer(start.Add(c.after), q)); n != want {
				t.Errorf("after %v %v of the window of %v are left, want %d", c.after, n, window, want)
			}
		}
	}
	report(s, start.Add(40*time.Minute), "later", "other", "web", counted(0, 1, 0))
	if size := s.Size(); size != (traffic.Size{Callers: 1, Links: 1, Rules: 1, Sidecars: 1}) {
		t.Errorf("after 40 minutes there is %+v", size)
	}
}

// TestMoreRulesThanAreKept is that what one caller sends to one destination stays right when its rules
// are too many to be kept apart.
func TestMoreRulesThanAreKept(t *testing.T) {
	s := traffic.New(start)
	const destinations, rules = 50, 600
	for n := range rules {
		for to := range destinations {
			report(s, start.Add(time.Duration(n)*10*time.Millisecond), "dp", "front", fmt.Sprint("svc", to), counted(n, 3, 1))
		}
	}
	if size := s.Size(); size.Rules > traffic.MostRules || size.Dropped == 0 {
		t.Fatalf("%+v", size)
	}
	p := s.Answer(start.Add(traffic.Step), query(traffic.ByCaller))
	if len(p.Items) != destinations {
		t.Fatalf("%d destinations", len(p.Items))
	}
	for _, i := range p.Items {
		if i.Requests != 3*rules {
			t.Errorf("%s: %d requests", i.To, i.Requests)
		}
	}
}

// TestWhoSeesWhat is that a caller's routes are for those who see its namespace or theirs, and that
// traffic between two others is for nobody else.
func TestWhoSeesWhat(t *testing.T) {
	s := traffic.New(start)
	report(s, start, "dp", "front", "web", counted(0, 5, 0))
	for _, c := range []struct {
		sees  []string
		items int
		route string
	}{{[]string{"front"}, 1, "MeshHTTPRoute/r"}, {[]string{"web"}, 1, ""}, {[]string{"db"}, 0, ""}, {nil, 0, ""}} {
		q := query(traffic.ByRule)
		q.Cut, q.Sees = true, c.sees
		p := s.Answer(start.Add(traffic.Step), q)
		if len(p.Items) != c.items || c.items > 0 && p.Items[0].Route != c.route {
			t.Errorf("who sees %v gets %+v", c.sees, p.Items)
		}
	}
}

// TestLatency is the percentiles as bounds.
func TestLatency(t *testing.T) {
	s := traffic.New(start)
	of := counted(0, 100, 0)
	of.Counts.Durations = [8]uint32{40, 20, 30, 0, 4, 0, 4, 2}
	report(s, start, "dp", "front", "web", of)
	l := s.Answer(start.Add(traffic.Step), query(traffic.ByService)).Items[0].Latency
	if l.P50 == nil || *l.P50 != 10 || l.P95 == nil || *l.P95 != 1000 || l.P99 != nil {
		t.Errorf("%v %v %v", l.P50, l.P95, l.P99)
	}
}

// TestCauses is that the most frequent causes are kept, the others together by status.
func TestCauses(t *testing.T) {
	s := traffic.New(start)
	of := counted(0, 100, 100)
	for n := range 20 {
		of.Causes = append(of.Causes, traffic.CountedCause{RequestCause: traffic.RequestCause{Flags: "UF", Details: fmt.Sprint(n), Status: 503}, Count: 5, Sampled: n == 0})
	}
	report(s, start, "dp", "front", "web", of)
	i := s.Answer(start.Add(traffic.Step), query(traffic.ByService)).Items[0]
	if len(i.Causes) != traffic.MostCauses+1 || i.Causes[0].RequestCause != (traffic.RequestCause{Status: 503}) || math.Abs(i.Causes[0].PerSecond-6) > 0.01 {
		t.Errorf("%+v", i.Causes)
	}
}

// BenchmarkReport is what one sidecar of which 20 rules were used costs.
func BenchmarkReport(b *testing.B) {
	s := traffic.New(start)
	to := map[traffic.Service][]traffic.Counted{}
	for n := range 20 {
		to[service(fmt.Sprint(n))] = []traffic.Counted{counted(n, 100, 1)}
	}
	for n := 0; b.Loop(); n++ {
		s.Report(start.Add(time.Duration(n)*time.Millisecond), dataplane(fmt.Sprint(n%10_000)), service(fmt.Sprint(n%1000)), traffic.Step, to, nil)
	}
}

// TestWhoReportsIsCounted: the sidecars of a mesh that have reported within three intervals, of the namespaces that
// who asks sees; neither those of another mesh nor those that are silent.
func TestWhoReportsIsCounted(t *testing.T) {
	t.Parallel()
	s := traffic.New(start)
	report(s, start, "silent", "front", "back", counted(0, 1, 0))
	now := start.Add(2 * time.Minute)
	report(s, now, "web", "front", "back", counted(0, 1, 0))
	report(s, now, "pay", "till", "back", counted(0, 1, 0))
	s.Report(now, api.Ref{Kind: api.KindDataplane, Mesh: "other", Name: "web"}, traffic.Service{Mesh: "other", Namespace: "front", Name: "front"}, traffic.Step,
		map[traffic.Service][]traffic.Counted{service("back"): {counted(0, 1, 0)}}, nil)
	for what, c := range map[string]struct {
		cut  bool
		sees []string
		want int
	}{"all": {want: 2}, "of one namespace": {true, []string{"front"}, 1}, "of none": {true, nil, 0}} {
		q := query(traffic.ByService)
		q.Cut, q.Sees = c.cut, c.sees
		if p := s.Answer(now, q); p.Sidecars != c.want {
			t.Errorf("who sees %s is told of %d sidecars, not of %d", what, p.Sidecars, c.want)
		}
	}
}
