package traffic_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/traffic"
)

// minutes are requests by minutes, the last one of which began at start: how many, failed and denied, or "-"
// for one of which nobody told; also how many of services that are gone, limited and retried.
func minutes(list ...string) (out []traffic.MinuteCounts) {
	for n, text := range list {
		m := traffic.MinuteCounts{At: start.Add(time.Duration(n-len(list)+1) * time.Minute)}
		if text == "-" {
			continue
		}
		if _, err := fmt.Sscanf(text+" 0 0 0 0 0", "%d %d %d %d %d %d", &m.Requests, &m.Failed, &m.Denied, &m.Gone, &m.Limited, &m.Retried); err != nil {
			panic(err)
		}
		out = append(out, m)
	}
	return out
}

// TestTroubles: what is wrong with requests, and which change began it.
func TestTroubles(t *testing.T) {
	t.Parallel()
	now := start.Add(30 * time.Second)
	change := traffic.RevisionChange{At: start.Add(-2*time.Minute - 10*time.Second), Revision: 812, Objects: []api.Ref{{Kind: "MeshRetry", Mesh: "default", Name: "pay"}, {Kind: "MeshTimeout", Mesh: "default", Name: "a"}, {Kind: "MeshTimeout", Mesh: "default", Name: "b"}, {Kind: "MeshTimeout", Mesh: "default", Name: "c"}}}
	for name, c := range map[string]struct {
		item    traffic.Item
		changes []traffic.RevisionChange
		want    []string
	}{
		"all is well":         {traffic.Item{Minutes: minutes("500", "510 1", "490", "505", "100 1")}, nil, nil},
		"few requests":        {traffic.Item{Minutes: minutes("5 5", "2 2", "2 2")}, nil, nil},
		"it always fails":     {traffic.Item{Minutes: minutes("100 60", "100 61", "100 60", "100 60", "100 59", "100 60")}, nil, []string{"error RequestsFail to pay:80: 60 % of the requests of the last five minutes failed (300 of 500)"}},
		"it failed before":    {traffic.Item{Minutes: minutes("100 60", "100 61", "100", "100", "100", "100", "100")}, nil, nil},
		"it is mended":        {traffic.Item{Minutes: minutes("1000", "1000", "1000", "100 80", "100 80", "1000", "1000")}, []traffic.RevisionChange{change}, nil},
		"it is allowed again": {traffic.Item{Minutes: minutes("1000", "1000", "1000", "100 0 80", "100 0 80", "1000", "1000")}, []traffic.RevisionChange{{At: start.Add(-3 * time.Minute), Revision: 812}}, nil},
		"it fails a little":   {traffic.Item{Minutes: minutes("100 6", "100 7", "100 6", "100 6", "100 6", "100 5")}, nil, []string{"warning RequestsFail to pay:80: 6.0 % of the requests of the last five minutes failed (30 of 500)"}},
		"it begins to fail": {traffic.Item{Minutes: minutes("1000", "1000", "1000", "100 20", "100 20", "100 20"),
			Causes: []traffic.CauseItem{{Words: "per-try timeout"}, {Words: "no route"}}}, nil,
			[]string{"warning RequestsFail to pay:80: since 11:58 UTC 20 % of the requests fail (60 of 300); before, 0 of 3000 did; most often: per-try timeout"}},
		"a change began it": {traffic.Item{Minutes: minutes("1000", "1000", "1000 2", "100 80", "100 80", "100 80")}, []traffic.RevisionChange{{Revision: 3, At: start.Add(-time.Hour)}, change},
			[]string{"error RequestsFail to pay:80: since 11:58 UTC 80 % of the requests fail (240 of 300); before, 2 of 3000 did; revision 812 changed MeshRetry/default/pay, MeshTimeout/default/a, MeshTimeout/default/b and 1 more at 11:57:50 UTC"}},
		"a little, by a change": {traffic.Item{Minutes: minutes("1000", "1000", "1000", "1000 20", "1000 20", "1000 20")}, []traffic.RevisionChange{change},
			[]string{"warning RequestsFail to pay:80: since 11:58 UTC 2.0 % of the requests fail (60 of 3000); before, 0 of 3000 did; revision 812 changed"}},
		"a little, without one": {traffic.Item{Minutes: minutes("1000", "1000", "1000", "1000 20", "1000 20", "1000 20")}, nil, nil},
		"a later change did not": {traffic.Item{Minutes: minutes("1000", "1000", "100 80", "100 80", "100 80", "100 80")}, []traffic.RevisionChange{{Revision: 813, At: start.Add(-time.Minute), Objects: []api.Ref{{Kind: "MeshRetry", Mesh: "default", Name: "x"}}}},
			[]string{"error RequestsFail to pay:80: since 11:57 UTC 80 % of the requests fail (320 of 400); before, 0 of 2000 did"}},
		"of another namespace": {traffic.Item{Key: traffic.Key{Route: "HTTPRoute/pay", RouteNamespace: "shop"}, Minutes: minutes("1000", "1000", "1000", "100 80", "100 80", "100 80")}, []traffic.RevisionChange{{At: change.At, Revision: 812, Objects: []api.Ref{
			{Kind: "MeshRetry", Mesh: "default", Namespace: "secret", Name: "hidden"}}}},
			[]string{"error RequestsFail to pay:80: since 11:58 UTC 80 % of the requests fail (240 of 300); before, 0 of 3000 did; revision 812 changed something elsewhere at "}},
		"of this and another": {traffic.Item{Key: traffic.Key{Route: "HTTPRoute/pay", RouteNamespace: "shop"}, Minutes: minutes("1000", "1000", "1000", "100 80", "100 80", "100 80")}, []traffic.RevisionChange{{At: change.At, Revision: 812, Objects: []api.Ref{
			{Kind: "MeshRetry", Mesh: "default", Namespace: "secret", Name: "hidden"}, {Kind: "HTTPRoute", Mesh: "default", Namespace: "shop", Name: "pay"}}}},
			[]string{"error RequestsFail to pay:80: since 11:58 UTC 80 % of the requests fail (240 of 300); before, 0 of 3000 did; revision 812 changed HTTPRoute/default/shop/pay and 1 more at "}},
		"refused since a change":     {traffic.Item{Minutes: minutes("100", "100", "100", "100 0 90", "100 0 90", "100 0 90")}, []traffic.RevisionChange{change}, []string{"warning RequestsDenied to pay:80: since 11:58 UTC 90 % of the requests are refused (270 of 300); before, 0 of 300 did; revision 812 changed"}},
		"refused without a change":   {traffic.Item{Minutes: minutes("100", "100", "100", "100 0 90", "100 0 90", "100 0 90")}, nil, nil},
		"always refused":             {traffic.Item{Minutes: minutes("100 0 90", "100 0 90", "100 0 90", "100 0 90", "100 0 90", "100 0 90")}, []traffic.RevisionChange{change}, nil},
		"no requests any more":       {traffic.Item{Key: traffic.Key{Route: "HTTPRoute/pay"}, Minutes: minutes("41", "39", "40", "40", "0", "0", "0")}, nil, []string{"warning RouteUnused to pay:80: no requests since 11:58 UTC, and 40 a minute before, though those who sent them report"}},
		"a minute without requests":  {traffic.Item{Key: traffic.Key{Route: "HTTPRoute/pay"}, Minutes: minutes("41", "39", "40", "40", "40", "0", "0")}, nil, nil},
		"of no route":                {traffic.Item{Minutes: minutes("41", "39", "40", "40", "0", "0", "0")}, nil, nil},
		"those who called are gone":  {traffic.Item{Key: traffic.Key{Route: "HTTPRoute/pay"}, Minutes: minutes("41 0 0 41", "39 0 0 39", "40 0 0 40", "40 0 0 40", "0", "0", "0")}, nil, nil},
		"nobody tells":               {traffic.Item{Key: traffic.Key{Route: "HTTPRoute/pay"}, Minutes: minutes("41", "39", "40", "40", "-", "-", "-")}, nil, nil},
		"seldom asked":               {traffic.Item{Key: traffic.Key{Route: "HTTPRoute/pay"}, Minutes: minutes("4", "3", "4", "4", "0", "0", "0")}, nil, nil},
		"seldom asked, and long not": {traffic.Item{Key: traffic.Key{Route: "HTTPRoute/pay"}, Minutes: minutes("4", "3", "5", "4", "0", "0", "0", "0", "0", "0", "0")}, nil, []string{"warning RouteUnused to pay:80: no requests since 11:54 UTC, and 4 a minute before"}},
		"a limit bites": {traffic.Item{Minutes: minutes("100", "100 0 9 0 9", "100 0 12 0 12", "100 0 12 0 12", "100 0 12 0 12", "100 0 12 0 12", "100 0 12 0 12")}, nil,
			[]string{"warning LimitBites to pay:80: a rate limit refused 12 % of the requests of the last five minutes (60 of 500); `weft why --status 429` names the policy"}},
		"a limit bites a little": {traffic.Item{Minutes: minutes("100 0 10 0 10", "100 0 10 0 10", "100 0 10 0 10", "100 0 10 0 10", "100 0 10 0 10", "100 0 10 0 10")}, nil, nil},
		"a limit bit":            {traffic.Item{Minutes: minutes("100", "100", "100 0 40 0 40", "100 0 40 0 40", "100 0 40 0 40", "100", "100")}, nil, nil},
		"retries storm": {traffic.Item{Minutes: minutes("100", "100 0 0 0 0 90", "100 0 0 0 0 90", "100 0 0 0 0 90", "100 0 0 0 0 90", "100 0 0 0 0 90")}, nil,
			[]string{"warning RetryStorm to pay:80: the requests of the last five minutes were repeated 450 times, which is 90 % of them (500)"}},
		"some retries":    {traffic.Item{Minutes: minutes("100", "100 0 0 0 0 20", "100 0 0 0 0 20", "100 0 0 0 0 20", "100 0 0 0 0 20", "100 0 0 0 0 20")}, nil, nil},
		"few are retried": {traffic.Item{Minutes: minutes("2", "2 0 0 0 0 2", "2 0 0 0 0 2", "2 0 0 0 0 2", "1 0 0 0 0 1", "2 0 0 0 0 2")}, nil, nil},
		"once":            {traffic.Item{Key: traffic.Key{Route: "HTTPRoute/pay"}, Minutes: minutes("0", "400", "0", "0", "0", "0", "0")}, nil, nil},
	} {
		c.item.To = "pay:80"
		var got []string
		for _, x := range traffic.Troubles(now, []traffic.Item{c.item}, c.changes) {
			got = append(got, fmt.Sprint(x.Severity, " ", x.Code, " ", x.Message))
		}
		ok := len(got) == len(c.want)
		for n := 0; ok && n < len(got); n++ {
			ok = strings.HasPrefix(got[n], c.want[n])
		}
		if !ok {
			t.Errorf("%s: said\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestSteadyTrafficIsNoTrouble: whatever the rate of requests, and of those that fail below one of a hundred,
// changes beside it are blamed for nothing.
func TestSteadyTrafficIsNoTrouble(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		i := traffic.Item{Key: traffic.Key{To: "pay:80", Route: "HTTPRoute/pay"}}
		rate, of := rapid.IntRange(0, 3000).Draw(t, "rate"), rapid.Float64Range(0, 0.009).Draw(t, "failing")
		var changes []traffic.RevisionChange
		for n := range 15 {
			m := traffic.MinuteCounts{At: start.Add(time.Duration(n-14) * time.Minute), Requests: uint64(rate)}
			m.Failed = uint64(of * float64(rate))
			m.Denied = m.Failed
			i.Minutes = append(i.Minutes, m)
			changes = append(changes, traffic.RevisionChange{At: m.At, Revision: uint64(n + 1), Objects: []api.Ref{{Kind: "MeshRetry", Mesh: "default", Name: "x"}}})
		}
		if got := traffic.Troubles(start.Add(time.Minute), []traffic.Item{i}, changes); len(got) > 0 {
			t.Fatal(got)
		}
	})
}

// TestMinutesAddUp: the requests by minutes are those of the sum, replicas have together what one would, a
// minute of which nobody told is left out, and those of services that nobody reports for are marked.
func TestMinutesAddUp(t *testing.T) {
	t.Parallel()
	one, two := traffic.New(start), [2]*traffic.Sums{traffic.New(start), traffic.New(start)}
	for n := range 60 { // ten minutes, the third of which nobody tells of
		at := start.Add(time.Duration(n) * traffic.Step)
		if n/6 == 2 {
			continue
		}
		for _, s := range []*traffic.Sums{one, two[n%2]} {
			report(s, at, fmt.Sprint("dp", n%2), "front", "web", counted(0, 10, 1))
			if n < 30 {
				report(s, at, "old", "gone", "web", counted(0, 5, 0))
			}
		}
	}
	now := start.Add(10 * time.Minute)
	q := traffic.TrafficQuery{Mesh: "m", By: traffic.ByRoute, Window: traffic.Quarter, Minutes: true}
	alone, both := one.Answer(now, q), traffic.Merge(two[0].Answer(now, q), two[1].Answer(now, q))
	if len(alone.Items) != 1 || len(both.Items) != 1 {
		t.Fatalf("%d and %d items", len(alone.Items), len(both.Items))
	}
	for who, i := range map[string]traffic.Item{"one": alone.Items[0], "two": both.Items[0]} {
		var all, failed, gone uint64
		for _, m := range i.Minutes {
			all, failed, gone = all+m.Requests, failed+m.Failed, gone+m.Gone
			if m.At.Equal(start.Add(2 * time.Minute)) {
				t.Errorf("%s: a minute of which nobody told has %+v", who, m)
			}
		}
		if all != i.Requests || all != 54*10+24*5 || failed != 54 || gone != 24*5 || len(i.Minutes) != 9 {
			t.Errorf("%s: %d requests of %d, %d failed, %d of services that are gone, in %d minutes", who, all, i.Requests, failed, gone, len(i.Minutes))
		}
	}
	if q.Minutes = false; one.Answer(now, q).Items[0].Minutes != nil {
		t.Error("minutes that nobody asked for")
	}
}
