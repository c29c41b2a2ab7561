package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/events"
)

// failing are the sums of a route, of a service with an object and of one without, to which most requests have
// failed for three minutes.
type failing struct{ asked *atomic.Int32 }

func (f failing) Traffic(_ context.Context, q traffic.TrafficQuery) (traffic.PartialSums, []string) {
	f.asked.Add(1)
	if q.By != traffic.ByRoute || q.Window != traffic.Quarter || !q.Minutes {
		return traffic.PartialSums{}, nil
	}
	var minutes []traffic.MinuteCounts
	for ago := 10; ago >= 0; ago-- {
		m := traffic.MinuteCounts{At: time.Now().Truncate(time.Minute).Add(-time.Duration(ago) * time.Minute), Requests: 100}
		if ago < 3 {
			m.Failed = 80
		}
		minutes = append(minutes, m)
	}
	return traffic.PartialSums{Items: []traffic.Item{
		{Key: traffic.Key{To: "s-0:80", Route: "MeshHTTPRoute/r-0"}, Minutes: minutes},
		{Key: traffic.Key{To: "m-1:80"}, Minutes: minutes},
		{Key: traffic.Key{To: "s-1"}, Minutes: minutes},
	}}, nil
}

// TestProblemsOfRequests: what is wrong with requests stands among the problems of the route that takes them, or of
// the service, with the revision that began it, and replicas are asked once for all who ask.
func TestProblemsOfRequests(t *testing.T) {
	t.Parallel()
	source := failing{new(atomic.Int32)}
	server, bus := serveWith(t, town(2), false, func(c *web.Config) { c.Traffic = source })
	at := time.Now().Truncate(time.Minute).Add(-2*time.Minute - 5*time.Second)
	bus.Publish(events.Event{Type: "change", Time: at, Revision: 7, Object: "MeshRetry/default/r-0", Ref: api.Ref{Kind: "MeshRetry", Mesh: "default", Name: "r-0"}, Action: "updated"})
	bus.Publish(events.Event{Type: "change", Time: at, Revision: 7, Object: "MeshTimeout/default/t-0", Ref: api.Ref{Kind: "MeshTimeout", Mesh: "default", Name: "t-0"}, Action: "updated"})
	ask := func(query string) map[string]conditions.Problem {
		t.Helper()
		code, text := call(t, http.MethodGet, server.URL+"/_problems"+query, "")
		var answer struct{ Items []conditions.ProblemOwner }
		if err := json.Unmarshal([]byte(text), &answer); err != nil || code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
		out := map[string]conditions.Problem{}
		for _, o := range answer.Items {
			for _, p := range o.Problems {
				if p.Code == traffic.CodeRequestsFail {
					out[o.Owner] = p
				}
			}
		}
		return out
	}
	got := ask("")
	for _, owner := range []string{"MeshHTTPRoute/default/r-0", "MeshService/default/m-1", "service s-1"} {
		p := got[owner]
		if p.Severity != "error" || !strings.Contains(p.Message, " 80 % of the requests fail (240 of 300); before, 0 of 800 did; revision 7 changed MeshRetry/default/r-0, MeshTimeout/default/t-0 at ") {
			t.Errorf("%s: %+v", owner, p)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d problems of requests: %v", len(got), got)
	}
	if ask("?name=r-0")["MeshHTTPRoute/default/r-0"].Code == "" || source.asked.Load() != 1 {
		t.Errorf("sums were asked for %d times", source.asked.Load())
	}
}
