package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/inspect/web/rights"
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

// badEndpoints are endpoints of two namespaces, and one that no dataplane has, at which all attempts have failed.
type badEndpoints struct{}

func (badEndpoints) Traffic(_ context.Context, q traffic.TrafficQuery) (traffic.PartialSums, []string) {
	var out traffic.PartialSums
	for _, namespace := range []string{"ours", "theirs", ""} {
		failed := traffic.HostCounts{Refused: 50, Lines: 50}
		h := traffic.HostItem{To: "web." + namespace + ":80", ToNamespace: namespace, Address: "10.0.0.1:80", Of: 5, Lately: failed, Now: failed}
		if namespace != "" {
			h.Dataplane = api.Ref{Kind: api.KindDataplane, Mesh: "default", Namespace: namespace, Name: "web"}
		}
		if q.Hosts {
			out.Hosts = append(out.Hosts, h)
		}
	}
	return out, nil
}

// TestEndpointsAreOfThoseWhoSeeThem: an endpoint that fails is a problem of its dataplane, or else of its service; and
// who may explain dataplanes of one namespace is told of its own alone.
func TestEndpointsAreOfThoseWhoSeeThem(t *testing.T) {
	t.Parallel()
	docs := "type: Mesh\nname: default\n"
	for _, namespace := range []string{"ours", "theirs"} {
		docs += "---\n{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: web, namespace: " + namespace + "}, mesh: default, spec: {networking: {address: 10.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: web}}]}}}\n"
	}
	c := &cluster{said: map[rights.AccessRequest]bool{}, may: func(a rights.AccessRequest) bool {
		return a.Resource == "dataplanes" && a.Subresource == "explain" && a.Namespace == "ours"
	}}
	server, _ := serveWith(t, docs, false, func(o *web.Config) { o.Admin, o.Users, o.Traffic = "the admin's token", c, badEndpoints{} })
	for token, want := range map[string]string{"the admin's token": "Dataplane/default/ours/web, Dataplane/default/theirs/web, service web.:80", "alice": "Dataplane/default/ours/web"} {
		r, err := http.NewRequest(http.MethodGet, server.URL+"/_problems", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Items []conditions.ProblemOwner }
		err = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		var got []string
		for _, o := range answer.Items {
			for _, p := range o.Problems {
				if p.Code == traffic.CodeEndpointFails {
					got = append(got, o.Owner)
				}
			}
		}
		slices.Sort(got)
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%s is told of %v, want %s (%v)", token, got, want, err)
		}
	}
}
