package traffic_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/traffic"
)

// failedAt is an endpoint of web:80, of so many, with failures of the last five minutes, one line each.
func failedAt(host string, of int, lately traffic.HostCounts) traffic.HostItem {
	if lately.Lines == 0 {
		lately.Lines = lately.All()
	}
	return traffic.HostItem{To: "web:80", Address: "10.0.0." + host + ":80", Dataplane: api.Ref{Kind: api.KindDataplane, Mesh: "m", Name: "web-" + host}, Of: of, Whole: true, Lately: lately, Now: traffic.HostCounts{Errors: 1, Lines: 1}}
}

// TestEndpointTroubles: an endpoint that is much worse than its siblings is told, with what that rests on, and one
// that is not, or may be so by chance, is not.
func TestEndpointTroubles(t *testing.T) {
	t.Parallel()
	now := start.Add(30 * time.Second)
	sent := func(n int) []traffic.Item {
		return []traffic.Item{{Key: traffic.Key{To: "web:80"}, Minutes: minutes(fmt.Sprint(n))}, {Key: traffic.Key{To: "web:80", Route: "HTTPRoute/a"}, Minutes: minutes("500", "0", "0", "0", "0", "0", "50 0 0 0 0 50")}, {Key: traffic.Key{To: "db:80"}, Minutes: minutes("7777")}}
	}
	over, partly := failedAt("1", 10, traffic.HostCounts{Errors: 60}), failedAt("1", 10, traffic.HostCounts{Refused: 60, Errors: 2})
	over.Now, partly.Whole = traffic.HostCounts{}, false
	outside := failedAt("1", 2, traffic.HostCounts{Timeouts: 40})
	outside.Dataplane = api.Ref{}
	errors := func(n uint32) traffic.HostCounts { return traffic.HostCounts{Errors: n} }
	for name, c := range map[string]struct {
		hosts []traffic.HostItem
		sent  int
		want  []string
	}{
		"none fails":                    {nil, 1000, nil},
		"one of ten":                    {[]traffic.HostItem{failedAt("1", 10, errors(62)), failedAt("2", 10, errors(3))}, 1400, []string{"endpoint 10.0.0.1:80 (dataplane web-1) of service web:80 fails 41 % of what goes to it (62 of 150~ in the last five minutes), its 9 siblings 0.2 %; most often: answered with 5xx; look in the log of its workload, and `weft why --to web:80` for single requests"}},
		"of a sample":                   {[]traffic.HostItem{failedAt("1", 10, traffic.HostCounts{Closed: 620, Lines: 62})}, 14900, []string{"endpoint 10.0.0.1:80 (dataplane web-1) of service web:80 fails 41 % of what goes to it (620~ of 1500~ in the last five minutes), its 9 siblings 0.0 %; most often: connection closed;"}},
		"two of ten":                    {[]traffic.HostItem{failedAt("1", 10, errors(62)), failedAt("2", 10, errors(60))}, 1400, []string{"endpoint 10.0.0.1:80 ", "endpoint 10.0.0.2:80 (dataplane web-2) of service web:80 fails 40 % of what goes to it (60 of 150~ in the last five minutes), its 8 siblings 0.0 %"}},
		"one of two":                    {[]traffic.HostItem{failedAt("1", 2, errors(40))}, 20, []string{"endpoint 10.0.0.1:80 (dataplane web-1) of service web:80 fails 67 % of what goes to it (40 of 60~ in the last five minutes), its sibling 0.0 %"}},
		"more than is known to be sent": {[]traffic.HostItem{failedAt("1", 2, errors(400))}, 20, []string{"endpoint 10.0.0.1:80 (dataplane web-1) of service web:80 fails 100 % of what goes to it (400 of 400~ in"}},
		"not all goes there":            {[]traffic.HostItem{partly, failedAt("2", 10, errors(3))}, 1400, []string{"endpoint 10.0.0.1:80 (dataplane web-1) of service web:80 has 62 of the 65 failures of its 10 endpoints in the last five minutes; most often: no connection; look whether its workload runs and listens there,"}},
		"outside the mesh":              {[]traffic.HostItem{outside}, 60, []string{"endpoint 10.0.0.1:80 of service web:80 fails 50 % of what goes to it (40 of 80~ in the last five minutes), its sibling 0.0 %; most often: no answer in time;"}},
		"few":                           {[]traffic.HostItem{failedAt("1", 10, errors(9))}, 1400, nil},
		"a few lines":                   {[]traffic.HostItem{failedAt("1", 10, traffic.HostCounts{Errors: 900, Lines: 9})}, 14000, nil},
		"all fail":                      {[]traffic.HostItem{failedAt("1", 3, errors(62)), failedAt("2", 3, errors(60)), failedAt("3", 3, errors(44))}, 1400, nil},
		"by chance":                     {[]traffic.HostItem{failedAt("1", 2, errors(10))}, 1400, nil},
		"alone":                         {[]traffic.HostItem{failedAt("1", 1, errors(60))}, 1400, nil},
		"by a hash":                     {[]traffic.HostItem{failedAt("1", 0, errors(60))}, 1400, nil},
		"it is over":                    {[]traffic.HostItem{over}, 1400, nil},
		"of two services":               {[]traffic.HostItem{{To: "db:80", Address: "a:1", Of: 9, Lately: traffic.HostCounts{Refused: 30, Lines: 30}, Now: errors(1)}, failedAt("1", 10, errors(62))}, 1400, []string{"endpoint a:1 of service db:80 has 30 of the 30 failures of its 9 endpoints", "endpoint 10.0.0.1:80 "}},
	} {
		got := traffic.EndpointTroubles(now, c.hosts, sent(c.sent))
		ok := len(got) == len(c.want)
		for n := 0; ok && n < len(got); n++ {
			ok = strings.HasPrefix(got[n].Message, c.want[n]) && got[n].Code == traffic.CodeEndpointFails
		}
		if !ok {
			t.Errorf("%s: said\n%v\nwant\n%s", name, got, strings.Join(c.want, "\n"))
		}
	}
}

// TestEvenFailuresAreNobodys: where each request fails with the same chance whichever endpoint has it, hardly ever one
// of them is told: in a thousand services, each with many failures, one or none.
func TestEvenFailuresAreNobodys(t *testing.T) {
	t.Parallel()
	rnd, told := rand.New(rand.NewPCG(1, 2)), 0
	for range 1000 {
		of := 2 + rnd.IntN(20)
		counts := make([]uint32, of)
		for range rnd.IntN(400) {
			counts[rnd.IntN(of)]++
		}
		var hosts []traffic.HostItem
		for n, failed := range counts {
			if failed > 0 {
				hosts = append(hosts, failedAt(fmt.Sprint(n), of, traffic.HostCounts{Errors: failed}))
			}
		}
		told += len(traffic.EndpointTroubles(start, hosts, nil))
	}
	if told > 1 {
		t.Errorf("%d endpoints are told", told)
	}
}

// TestHostsAddUp: failures at endpoints are those that were told, by service and address, of the last minutes alone;
// replicas have together what one would; and of however many endpoints as many are kept as may be.
func TestHostsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, two := traffic.New(start), [2]*traffic.Sums{traffic.New(start), traffic.New(start)}
		now, want := start, map[string]uint32{}
		for n := range rapid.IntRange(1, 30).Draw(t, "reports") {
			now = start.Add(time.Duration(n) * traffic.Step)
			h := traffic.FailedHost{To: service(rapid.SampledFrom([]string{"web", "db"}).Draw(t, "to")), Address: rapid.SampledFrom([]string{"a:1", "b:1"}).Draw(t, "at"), Of: 2, Whole: true,
				HostCounts: traffic.HostCounts{Errors: rapid.Uint32Range(1, 9).Draw(t, "failed"), Lines: 1}}
			want[h.To.ID+" "+h.Address] += h.Errors
			one.FailedAt(now, []traffic.FailedHost{h})
			two[rapid.IntRange(0, 1).Draw(t, "replica")].FailedAt(now, []traffic.FailedHost{h})
		}
		q := traffic.TrafficQuery{Mesh: "m", By: traffic.ByRoute, Window: traffic.Quarter, Hosts: true}
		alone, both := one.Answer(now, q).Hosts, traffic.Merge(two[0].Answer(now, q), two[1].Answer(now, q)).Hosts
		if fmt.Sprint(alone) != fmt.Sprint(both) || len(alone) != len(want) {
			t.Fatalf("one has %v, two have %v, want %v", alone, both, want)
		}
		if now.Sub(start) < 4*time.Minute {
			for _, h := range alone {
				if h.Lately.Errors != want[h.To+" "+h.Address] {
					t.Fatalf("%+v, want %v", h, want)
				}
			}
		}
		q.Cut, q.Sees = true, []string{"db"}
		for _, h := range one.Answer(now, q).Hosts {
			if h.ToNamespace != "db" {
				t.Fatalf("%+v is seen", h)
			}
		}
		if later := one.Answer(now.Add(6*time.Minute), q).Hosts; len(later) != 0 {
			t.Fatalf("%v is told later", later)
		}
	})
	s := traffic.New(start)
	for n := range 3 * traffic.MostHosts {
		s.FailedAt(start, []traffic.FailedHost{{To: service("web"), Address: fmt.Sprint(n)}})
	}
	if kept := s.Size().Hosts; kept > traffic.MostHosts {
		t.Errorf("%d endpoints are kept", kept)
	}
	for n := range 20 { // minutes later
		report(s, start.Add(time.Duration(n)*time.Minute), "dp", "front", "web")
	}
	if kept := s.Size().Hosts; kept != 0 {
		t.Errorf("%d endpoints are kept for ever", kept)
	}
}
