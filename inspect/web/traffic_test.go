package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/requests"
)

// counts are the sums of one sidecar of front, which calls five services.
type counts struct{ sums *traffic.Sums }

func newCounts() counts {
	c := counts{traffic.New(noon)}
	to := map[traffic.Service][]traffic.Counted{}
	for n := range 5 {
		to[traffic.Service{Mesh: "default", Namespace: "shop", Name: fmt.Sprint("s-", n), ID: fmt.Sprintf("s-%d:80", n)}] = []traffic.Counted{{
			Rule:   traffic.Rule{Key: "k", Origin: &api.Origin{Ref: api.Ref{Kind: "MeshHTTPRoute", Mesh: "default", Name: "r", Namespace: "front"}, RuleName: "all"}},
			Counts: traffic.Counts{Completed: uint32(100 * (n + 1)), Failed: uint32(50 - 10*n), Durations: [8]uint32{uint32(100 * (n + 1))}}}}
	}
	c.sums.Report(noon, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "front-1", Namespace: "front"}, traffic.Service{Mesh: "default", Namespace: "front", Name: "front"}, traffic.Step, to, nil)
	return c
}

// Traffic answers as ten seconds after the report.
func (c counts) Traffic(_ context.Context, q traffic.TrafficQuery) (traffic.PartialSums, []string) {
	return c.sums.Answer(noon.Add(traffic.Step), q), []string{"cp-2"}
}

// TestTraffic is that sums come sorted as asked, of one service where one is named, and with what they are
// without; and that what nobody counts is not there.
func TestTraffic(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, town(2), false)
	ask := func(query string) (a requests.Answer) {
		t.Helper()
		code, text := call(t, http.MethodGet, server.URL+"/meshes/default/_traffic"+query, "")
		if err := json.Unmarshal([]byte(text), &a); err != nil || code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, code, text)
		}
		return a
	}
	if a := ask(""); a.Total != 5 || a.Items[0].To != "s-4:80" || a.Items[0].Requests != 500 || a.Items[0].Route != "" || !a.Since.Equal(noon) || strings.Join(a.Unknown.Replicas, "") != "cp-2" {
		t.Errorf("%+v", a)
	}
	if a := ask("?by=rule&sort=failed&of=s-0:80"); a.Total != 1 || a.Items[0].Rule != "all" || a.Items[0].Caller != "front" || a.Items[0].Failed != 5 {
		t.Errorf("%+v", a)
	}
	if a := ask("?sort=failed&size=1&offset=1&window=15m"); len(a.Items) != 1 || a.Items[0].To != "s-1:80" || a.Next == nil || a.Window != "15m" {
		t.Errorf("%+v", a)
	}
	none, _ := serveWith(t, town(2), false, func(c *web.Config) { c.Traffic = nil })
	if code, _ := call(t, http.MethodGet, none.URL+"/meshes/default/_traffic", ""); code != http.StatusNotFound {
		t.Errorf("where nothing is counted it answers %d", code)
	}
}
