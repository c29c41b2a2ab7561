package traffic_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/traffic"
)

// all sums totals: requests by how they ended, retries, durations and causes.
func all(r traffic.TotalsReading) (sum traffic.TotalCounts, causes uint64) {
	for _, s := range r.Series {
		sum.OK, sum.Failed, sum.Denied, sum.Retried = sum.OK+s.OK, sum.Failed+s.Failed, sum.Denied+s.Denied, sum.Retried+s.Retried
		for i, n := range s.Durations {
			sum.Durations[i] += n
		}
	}
	for _, c := range r.Causes {
		causes += c.Count
	}
	return sum, causes
}

// seen is what somebody who reads totals has seen of series: values never become less, and none that is gone comes
// back. What they have grown by, each from zero, is what was counted.
type seen struct {
	last map[any]uint64
	gone map[any]bool
	grew uint64
}

func (s *seen) look(t *rapid.T, now map[any]uint64) {
	for key, n := range now {
		if s.gone[key] {
			t.Fatalf("%v is back", key)
		}
		if n < s.last[key] {
			t.Fatalf("%v was %d and is %d", key, s.last[key], n)
		}
		s.grew += n - s.last[key]
	}
	for key := range s.last {
		if _, there := now[key]; !there {
			s.gone[key] = true
		}
	}
	s.last = now
}

// TestTotalsOnlyGrow: whatever is reported, by however many sidecars, and whatever has no room: no series becomes less
// or begins anew, and all of them grow together by exactly what was counted.
func TestTotalsOnlyGrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		totals := traffic.NewTotalsOf(rapid.IntRange(1, 6).Draw(t, "room"))
		requests, causes := &seen{gone: map[any]bool{}}, &seen{gone: map[any]bool{}}
		now, sum, because := start, uint64(0), uint64(0)
		for range rapid.IntRange(1, 40).Draw(t, "reports") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 10, 60, 1800, 4000}).Draw(t, "seconds")) * time.Second)
			completed := rapid.Uint32Range(0, 100).Draw(t, "completed")
			failed := rapid.Uint32Range(0, completed).Draw(t, "failed")
			c := counted(rapid.IntRange(-1, 3).Draw(t, "rule"), completed, failed)
			c.Causes = []traffic.CountedCause{{RequestCause: traffic.RequestCause{Flags: rapid.SampledFrom([]string{"UF", "UH", "UT", "XY"}).Draw(t, "flag"), Details: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "details")}, Count: failed}}
			from, to := service(rapid.SampledFrom([]string{"a", "b", "others"}).Draw(t, "from")), service(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "to"))
			if rapid.Bool().Draw(t, "is called so") {
				to.ID = traffic.Others
			}
			if from.Name == traffic.Others {
				from.Namespace = ""
			}
			rest := traffic.Counts{Completed: rapid.Uint32Range(0, 2).Draw(t, "others")}
			totals.Report(now, from, map[traffic.Service][]traffic.Counted{to: {c}}, map[traffic.Service]traffic.Counts{to: rest})
			sum, because = sum+uint64(completed+rest.Completed), because+uint64(failed)
			r := totals.Read()
			values, of := map[any]uint64{}, map[any]uint64{}
			for _, s := range r.Series {
				if _, twice := values[s.TotalKey]; twice {
					t.Fatalf("%v is there twice", s.TotalKey)
				}
				values[s.TotalKey] = s.OK + s.Failed + s.Denied
			}
			for _, c := range r.Causes {
				if _, twice := of[c.CauseTotalKey]; twice {
					t.Fatalf("%v is there twice", c.CauseTotalKey)
				}
				of[c.CauseTotalKey] = c.Count
			}
			requests.look(t, values)
			causes.look(t, of)
			if requests.grew != sum || causes.grew != because {
				t.Fatalf("%d requests and %d with a cause were counted, series grew by %d and %d", sum, because, requests.grew, causes.grew)
			}
		}
	})
}

// TestTotalsHaveNames: a series has the names of who called and was called, of the route and the rule; what no rule
// took has none of those, and of what was told as a sum nobody knows it.
func TestTotalsHaveNames(t *testing.T) {
	t.Parallel()
	totals := traffic.NewTotals()
	c := counted(1, 10, 3)
	c.Counts.Denied, c.Counts.Retried, c.Counts.Durations = 2, 4, [8]uint32{5, 0, 0, 0, 0, 0, 0, 5}
	c.Causes = []traffic.CountedCause{{RequestCause: traffic.RequestCause{Flags: "UO", Details: "overflow", Status: 503}, Count: 3}}
	for range 2 {
		totals.Report(start, service("front"), map[traffic.Service][]traffic.Counted{service("web"): {c, counted(-1, 1, 0)}}, map[traffic.Service]traffic.Counts{service("web"): {Completed: 7}, service("db"): {}})
	}
	var got []string
	r := totals.Read()
	r.Sort()
	for _, s := range r.Series {
		got = append(got, fmt.Sprintf("%s %s → %s %q %q: %d ok %d failed %d denied %d retried %d", s.Mesh, s.Caller, s.To, s.Route, s.Rule, s.OK, s.Failed, s.Denied, s.Retried, s.Durations))
	}
	for _, c := range r.Causes {
		got = append(got, fmt.Sprintf("%s → %s %q %s %s: %d", c.Caller, c.To, c.Route, c.Flag, c.Cause, c.Count))
	}
	want := `m front.front → web:80 "" "": 2 ok 0 failed 0 denied 0 retried [0 2 0 0 0 0 0 0]
m front.front → web:80 "MeshHTTPRoute/r.front" "rule1": 10 ok 6 failed 4 denied 8 retried [10 0 0 0 0 0 0 10]
m front.front → web:80 "others" "others": 14 ok 0 failed 0 denied 0 retried [0 0 0 0 0 0 0 0]
front.front → web:80 "MeshHTTPRoute/r.front" UO circuit breaker: 6`
	if text := strings.Join(got, "\n"); text != want || r.Apart != 4 || r.Summed != 0 {
		t.Errorf("%s\nwant\n%s\n%d apart", text, want, r.Apart)
	}
}

// TestIdleSeriesMakeRoom: while there is no room a new series is in the sum, and in the room of one of which nothing
// was counted for an hour, which is in the sum from then on.
func TestIdleSeriesMakeRoom(t *testing.T) {
	t.Parallel()
	totals := traffic.NewTotalsOf(2)
	at := func(minutes, n int) string {
		totals.Report(start.Add(time.Duration(minutes)*time.Minute), service("front"), map[traffic.Service][]traffic.Counted{service("web"): {counted(n, 1, 0)}}, nil)
		var got []string
		r := totals.Read()
		r.Sort()
		for _, s := range r.Series {
			got = append(got, fmt.Sprint(s.Rule, " ", s.OK))
		}
		return fmt.Sprint(strings.Join(got, ", "), ", ", r.Summed)
	}
	for _, c := range []struct {
		minutes, rule int
		want          string
	}{
		{0, 1, "rule1 1, 0"}, {0, 2, "rule1 1, rule2 1, 0"}, {1, 3, "rule1 1, rule2 1, others 1, 1"},
		{61, 2, "rule1 1, rule2 2, others 1, 1"}, {62, 3, "rule2 2, rule3 1, others 1, 1"}, {63, 1, "rule2 2, rule3 1, others 2, 2"}, {63, 3, "rule2 2, rule3 2, others 2, 2"},
	} {
		if got := at(c.minutes, c.rule); got != c.want {
			t.Errorf("minute %d, rule %d: %s, want %s", c.minutes, c.rule, got, c.want)
		}
	}
}

// mostBytes is how much totals may need, with one reading of them (spec/telemetry.md 5).
const mostBytes = 30 << 20

// TestTotalsAreBounded: as many series and causes as there may be, with the longest names, and as many again without
// room, need no more memory than is promised, while somebody reads them.
func TestTotalsAreBounded(t *testing.T) {
	for name, length := range map[string]int{"usual names": 20, "long names": 1000} {
		before := heap()
		totals := traffic.NewTotals()
		fill(totals, 4*traffic.MostTotals, length)
		kept := heap() - before
		r := totals.Read()
		both := heap() - before
		if both > mostBytes {
			t.Errorf("%s: %d bytes, with a reading %d", name, kept, both)
		}
		sum, causes := all(r)
		if sum.OK != 4*traffic.MostTotals || causes != 4*traffic.MostTotals || r.Summed == 0 {
			t.Errorf("%s: %d requests and %d with a cause", name, sum.OK, causes)
		}
		t.Logf("%s: %d series and causes, %.1f MB, with a reading %.1f MB", name, r.Apart, float64(kept)/(1<<20), float64(both)/(1<<20))
		runtime.KeepAlive(totals)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// fill reports one request of each of n rules, with a cause of its own, by callers of which each has ten.
func fill(totals *traffic.Totals, n, length int) {
	pad := strings.Repeat("x", length)
	for i := range n {
		from, to := service(fmt.Sprint("caller-", i/10, pad)), service(fmt.Sprint("called-", i/10%100, pad))
		c := traffic.Counted{Rule: traffic.Rule{Key: "k", Origin: &api.Origin{Ref: api.Ref{Kind: "MeshHTTPRoute", Name: fmt.Sprint("route-", i%10, pad)}, RuleName: pad}},
			Counts: traffic.Counts{Completed: 1, Durations: [8]uint32{1}}, Causes: []traffic.CountedCause{{RequestCause: traffic.RequestCause{Flags: "UF"}, Count: 1}}}
		totals.Report(start, from, map[traffic.Service][]traffic.Counted{to: {c}}, nil)
	}
}

// BenchmarkTotals is what one report of twenty rules costs, and what a reading of all there may be.
func BenchmarkTotals(b *testing.B) {
	list := map[traffic.Service][]traffic.Counted{service("web"): nil}
	for n := range 20 {
		list[service("web")] = append(list[service("web")], counted(n, 10, 1))
	}
	b.Run("report", func(b *testing.B) {
		totals := traffic.NewTotals()
		for b.Loop() {
			totals.Report(start, service("front"), list, nil)
		}
	})
	b.Run("read", func(b *testing.B) {
		totals := traffic.NewTotals()
		fill(totals, traffic.MostTotals, 20)
		for b.Loop() {
			totals.Read()
		}
	})
}
