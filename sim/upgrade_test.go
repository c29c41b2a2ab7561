package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// upgrading are routes of each kind that say the same about WebSockets.
func upgrading(u route.Upgrade) *resolve.Resolved {
	says := func(value string) []route.Filter {
		set := []route.Header{{Name: "x-answer", Value: value}}
		if u == route.UpgradeOff {
			set = append(set, route.Header{Name: "content-type", Value: "text/x"})
		}
		return []route.Filter{{ResponseHeaders: &route.HeaderModifier{Set: set}}}
	}
	own := to("v2", 1)
	own.Filters = says("of the backend")
	routes := []*resolve.Route{
		{Key: "/one", Backends: []resolve.Backend{to("v1", 1)}, Filters: says("of the route")},
		{Key: "/own", Backends: []resolve.Backend{own}},
		{Key: "/share", Backends: []resolve.Backend{to("v1", 1), own, lost(1)}},
		{Key: "/lost", Backends: []resolve.Backend{lost(1)}, Filters: says("of the route")},
		{Key: "/away", Answer: &route.Redirect{Hostname: "away.example.org"}, Filters: says("of the route")},
		{Key: "/own-answer", Answer: &route.Respond{Status: 418, Body: "short and stout"}},
	}
	for _, rt := range routes {
		rt.Name, rt.Match, rt.Upgrade = rt.Key, matches.Of(prefix(rt.Key)), u
	}
	return shop(routes...)
}

// TestUpgradesAgreeWithEnvoy: what a rule says about WebSockets decides where it
// forwards, and nowhere else; other upgrades are refused wherever a route matches.
func TestUpgradesAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	said := []route.Upgrade{route.UpgradeUnset, route.UpgradeOn, route.UpgradeOff}
	shops, tables := make([]*resolve.Resolved, len(said)), make([]*resolve.Table, len(said))
	for i, u := range said {
		shops[i] = upgrading(u)
		tables[i] = shops[i].Outbounds[0].Table
	}
	oracle := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(tables...))
	refused := 0
	for i, u := range said {
		for _, path := range []string{"/one", "/own", "/share", "/lost", "/away", "/own-answer", "/none"} {
			for _, asked := range []string{"", "websocket", "WebSocket", "websocket, other", "other", "h2c"} {
				for _, content := range []string{"", "application/grpc"} {
					h := sim.Headers{}
					if asked != "" {
						h["connection"], h["upgrade"] = "Upgrade", asked
					}
					if content != "" {
						h["content-type"] = content
					}
					q := sim.Request{URL: "http://web:8080" + path, Method: "GET", Headers: h}
					if why := judge(oracle, i, shops[i], q); why != "" {
						t.Errorf("upgrade %q, %s asks for %q %s: %s", u, path, asked, content, why)
					}
					if v, err := run(shops[i], q); err == nil && v.Branches[0].Status == 403 && v.Branches[0].Route != nil {
						refused++
					}
				}
			}
		}
	}
	if want := 3 * 2 * 2; refused != want { // routes that forward, spellings, with and without gRPC
		t.Errorf("%d requests are refused by their route, want %d", refused, want)
	}
}

// TestRefusedUpgradeTakesNothing: neither a token nor an attempt.
func TestRefusedUpgradeTakesNothing(t *testing.T) {
	t.Parallel()
	limit := &ratelimit.Conf{Local: &ratelimit.Local{HTTP: &ratelimit.HTTP{RequestRate: &ratelimit.Rate{Num: ptr[uint32](1), Interval: ptr(api.Duration(time.Hour))}}}}
	rt := everything(to("v1", 1))
	rt.Upgrade = route.UpgradeOff
	rt.Policies = resolve.Policies{ratelimit.Kind.Resolve([]merge.Layer{{Name: merge.Route, Origin: &api.Origin{}, Leaves: ratelimit.Kind.Schema.Read(limit)}})}
	r := shop(rt)
	oracle := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(r.Outbounds[0].Table))
	socket := sim.Request{URL: "http://web:8080/", Method: "GET", Answers: "200", Headers: sim.Headers{"connection": "Upgrade", "upgrade": "websocket"}}
	plain := sim.Request{URL: "http://web:8080/", Method: "GET"}
	for n, c := range []struct {
		q    sim.Request
		want int
	}{{socket, 403}, {socket, 403}, {plain, 200}, {plain, 429}, {socket, 403}} {
		a, err := oracle.Ask(0, question(c.q))
		if err != nil || a.Status != c.want {
			t.Fatalf("request %d: %v, %+v, want %d", n, err, a, c.want)
		}
	}
	v, err := run(r, socket)
	if err != nil {
		t.Fatal(err)
	}
	b := v.Branches[0]
	if got, want := outcomeText(b)+fmt.Sprintf(" %v %v", b.Policies, v.Unknown), "respond 403: v1=1/403 map[] ["+sim.NothingAttempted+"]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := playing(r, socket, func(int) sim.Answer { return sim.Answer{Status: 200} }); err == nil {
		t.Error("it is played")
	}
}
