package differential

import (
	"net/http"
	"testing"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/internal/tables"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// upgrading are routes of each kind that say the same about WebSockets.
func upgrading(u route.Upgrade) []*tables.Route {
	says := func(value string) []route.Filter {
		set := []route.Header{{Name: "x-answer", Value: value}}
		if u == route.UpgradeOff {
			set = append(set, route.Header{Name: "content-type", Value: "text/x"})
		}
		return []route.Filter{{ResponseHeaders: &route.HeaderModifier{Set: set}}}
	}
	one, own := tables.Backend{Name: "v1", Weight: 1}, tables.Backend{Name: "v2", Weight: 1, Filters: says("of the backend")}
	lost := tables.Backend{Name: "nosuch", Weight: 1, Broken: &effective.Broken{Why: "there is no MeshService nosuch", Status: 500}}
	routes := []*tables.Route{
		{Name: "/one", Backends: []tables.Backend{one}, Filters: says("of the route")},
		{Name: "/own", Backends: []tables.Backend{own}},
		{Name: "/share", Backends: []tables.Backend{one, own, lost}},
		{Name: "/lost", Backends: []tables.Backend{lost}, Filters: says("of the route")},
		{Name: "/away", Redirect: &route.Redirect{Hostname: "away.example.org"}, Filters: says("of the route")},
		{Name: "/own-answer", Respond: &route.Respond{Status: 418, Body: "short and stout"}},
	}
	for _, rt := range routes {
		rt.Match, rt.Upgrade = matches.Path(match.SegmentPrefix, rt.Name), u
	}
	return routes
}

// TestUpgradesAgreeWithEnvoy: what a rule says about WebSockets decides where it
// forwards, and nowhere else; other upgrades are refused wherever a route matches.
func TestUpgradesAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	outside := m{"type": "MeshExternalService", "mesh": "default", "name": "outside", "spec": m{
		"match": m{"type": "HostnameGenerator", "port": 80, "protocol": "http"}, "endpoints": []any{m{"address": "outside.localhost", "port": 80}},
	}}
	var worlds []Source
	for _, u := range []route.Upgrade{route.UpgradeUnset, route.UpgradeOn, route.UpgradeOff} {
		from := plainWorld(outside, everywhere())
		from.Routes = written(upgrading(u))
		worlds = append(worlds, from)
	}
	f := newFleet(t, newRoom(t, workloadNames...), worlds)
	refused := 0
	for i, w := range f.worlds {
		for _, path := range []string{"/one", "/own", "/share", "/lost", "/away", "/own-answer", "/none"} {
			for _, asked := range []string{"", "websocket", "WebSocket", "websocket, other", "other", "h2c"} {
				for _, content := range []string{"", "application/grpc"} {
					h := wire.Headers{}
					if asked != "" {
						h["connection"], h["upgrade"] = "Upgrade", asked
					}
					if content != "" {
						h["content-type"] = content
					}
					p := Pair{Source: worlds[i], Request: wire.Request{URL: "http://web:8080" + path, Method: http.MethodGet, Headers: h}}
					if said := f.hold(i, p, NewGrid()); said != "" {
						t.Errorf("world %d, %s: %s", i, p.short(), said)
					}
					if v, err := sim.Run(w, client, p.Request); err == nil && v.Branches[0].Status == http.StatusForbidden && v.Branches[0].Route != nil {
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

// TestRefusedUpgradeTakesNoToken: it is answered before the limit counts.
func TestRefusedUpgradeTakesNoToken(t *testing.T) {
	t.Parallel()
	from := plainWorld(m{"type": "MeshRateLimit", "mesh": "default", "name": "one", "spec": m{
		"targetRef": m{"kind": "Mesh"}, "to": []any{m{"targetRef": m{"kind": "MeshService", "name": "web"}, "default": m{"local": m{"http": m{
			"requestRate": m{"num": 1, "interval": "1h"},
		}}}}},
	}})
	from.Routes = written([]*tables.Route{{Name: "all", Match: match.CatchAll, Backends: []tables.Backend{{Name: "web", Weight: 1}}, Upgrade: route.UpgradeOff}})
	f := newFleet(t, newRoom(t, workloadNames...), []Source{from})
	socket := wire.Request{URL: "http://web:8080/", Method: http.MethodGet, Headers: wire.Headers{"connection": "Upgrade", "upgrade": "websocket"}}
	plain := wire.Request{URL: "http://web:8080/", Method: http.MethodGet}
	for n, c := range []struct {
		q    wire.Request
		want int
	}{{socket, 403}, {socket, 403}, {plain, 200}, {plain, 429}, {socket, 403}} {
		o, err := f.ask(f.worlds[0], Pair{Request: c.q}, "token-"+string(rune('a'+n)))
		if err != nil || o.Status != c.want {
			t.Fatalf("request %d: %v, %s, want %d", n, err, o.text(), c.want)
		}
	}
}
