package sim_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/wire"
)

func everything(backends ...effective.Backend) *effective.Route {
	m := match.CatchAll
	return &effective.Route{Name: "all", Key: "all", Match: m, Matches: []match.Match{m}, Backends: backends}
}

// town is a dataplane in namespace east with several ways to name a service.
func town() *effective.Resolved {
	r := shop(everything(to("v1", 1)))
	r.Dataplane.Labels = map[string]string{api.LabelNamespace: "east"}
	add := func(id, name, namespace string, port, listener uint32, hostnames ...string) *effective.Outbound {
		d := &effective.Destination{ID: id, Kind: api.KindMeshService, Name: name, Namespace: namespace, Port: port, Protocol: api.HTTP,
			Hostnames: append(hostnames, name, name+".mesh")}
		if namespace != "" {
			d.Hostnames = append(d.Hostnames, name+"."+namespace, name+"."+namespace+".svc.cluster.local")
		}
		o := &effective.Outbound{Address: "127.0.0.1", Port: listener, Destination: d, Table: &effective.Table{Destination: d, Routes: []*effective.Route{everything(to("v1", 1))}}}
		r.Outbounds = append(r.Outbounds, o)
		return o
	}
	add("api.west:80", "api", "west", 80, 10002)
	add("api.east:80", "api", "east", 80, 10003)
	add("api.east:8080", "api", "east", 8080, 10004)
	add("old", "old", "", 0, 10005)
	add("shop.west:80", "shop", "west", 80, 10006, "shop.example.org")
	tcp := add("db:5432", "db", "", 5432, 10007)
	tcp.Table, tcp.TCP = nil, &effective.TCPTable{Destination: tcp.Destination, Backends: []effective.Backend{to("v2", 1)}}
	vip := add("vip:80", "vip", "", 80, 80)
	vip.Address = "241.0.0.1"
	return r
}

func TestURLFindsTheDestination(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://127.0.0.1:10001/":                 "web",
		"http://localhost:10001/":                 "web",
		"http://[::ffff:127.0.0.1]:10001":         "web",
		"http://web:8080/":                        "web",
		"http://WEB.mesh.:8080/":                  "web",
		"http://web:10001/":                       "web",
		"http://api/":                             "api.east", // its own namespace first
		"http://api:8080/":                        "api.east",
		"http://api.west/":                        "api.west",
		"http://api.west.svc.cluster.local:80/":   "api.west",
		"http://shop/":                            "shop.west",
		"http://shop.example.org/":                "shop.west",
		"http://old/":                             "old",
		"http://old:80/":                          "old",
		"http://old:10005/":                       "old",
		"http://241.0.0.1/":                       "vip",
		"HTTP://vip?x":                            "vip",
		"http://user:secret@web:8080/#fragment?x": "web",
		"http://db:5432/":                         "db",
		"tcp://db:5432":                           "db",
		"TCP://127.0.0.1:10007":                   "db",
	} {
		v, err := run(town(), wire.Request{URL: url})
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := v.Destination.Name
		if v.Destination.Namespace != "" {
			got += "." + v.Destination.Namespace
		}
		if got != want {
			t.Errorf("%s leads to %s, wanted %s", url, got, want)
		}
	}
}

func TestWhatIsNotReachedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://web/":             "http://web:8080",
		"http://web:9/":           "http://web:8080",
		"http://wep:8080/":        "did you mean web",
		"http://elsewhere/":       "no service of that name; create it and add it to networking.outbound of Dataplane shop-1",
		"http://127.0.0.1:10099/": "an address of networking.outbound",
		"http://api:9090/":        "http://api:80, http://api:8080",
	} {
		_, err := run(town(), wire.Request{URL: url})
		var lost *lookup.NotReached
		if !errors.As(err, &lost) || !strings.Contains(err.Error(), "does not reach") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", url, err, want)
		}
	}
}

func TestBadRequestsAreErrors(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"web:8080/v1":               "http://",
		"ftp://web/":                "http://",
		"http:///x":                 "no host",
		"http://[::1/":              "in brackets",
		"http://::1/":               "in brackets",
		"http://[web]:8080/":        "not a valid host",
		"http://web:x/":             "not a valid port",
		"http://web:99999/":         "not a valid port",
		"http://web:8080/a b":       "%20",
		"http://web:8080/a\x7f":     "%7F",
		"http://web:8080/caf\u00e9": "%C3",
		"https://web:8080/":         "plain HTTP",
	} {
		if _, err := run(town(), wire.Request{URL: url}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v does not say %q", url, err, want)
		}
	}
	for _, name := range []string{":path", "", "a b"} {
		if _, err := run(town(), wire.Request{URL: "http://web:8080/", Headers: wire.Headers{name: "x"}}); err == nil {
			t.Errorf("a header named %q is accepted", name)
		}
	}
}

func TestUnknownHostsPassThroughWhereTrafficIsRedirected(t *testing.T) {
	t.Parallel()
	r := town()
	r.Dataplane.Spec = &api.Dataplane{Networking: &api.Networking{TransparentProxying: &api.TransparentProxying{}}}
	v, err := run(r, wire.Request{URL: "http://elsewhere.example.org/a/../b", Headers: wire.Headers{"Host": "h", "X-A": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	b := v.Branches[0]
	if b.Outcome != sim.Passthrough || b.Forwarded.Path != "/a/../b" || b.Forwarded.Authority != "h" || b.Forwarded.Headers["x-a"] != "1" {
		t.Fatalf("%s", jsonText(b))
	}
}

// What the mesh has is not passed through, nor taken for unknown, only because
// this dataplane does not reach it.
func TestWhatTheMeshHasIsNamed(t *testing.T) {
	t.Parallel()
	others := []*effective.Destination{
		{ID: "pay.north:80", Kind: api.KindMeshService, Name: "pay", Namespace: "north", Port: 80, VIPs: []string{"241.0.0.9"}},
		{ID: "pay.east:81", Kind: api.KindMeshService, Name: "pay", Namespace: "east", Port: 81, VIPs: []string{"241.0.0.8"}},
		{ID: "plain", Kind: api.KindMeshService, Name: "plain"},
	}
	for _, o := range town().Outbounds {
		others = append(others, o.Destination)
	}
	limited := &api.TransparentProxying{ReachableBackends: &api.ReachableBackends{}}
	for _, c := range []struct {
		how       *api.TransparentProxying
		url, want string // empty where it passes through
	}{
		{nil, "http://pay/", "add MeshService pay.east port 81 to networking.outbound of Dataplane shop-1, or give it networking.transparentProxying"},
		{nil, "http://241.0.0.9/", "add MeshService pay.north port 80 to networking.outbound"},
		{nil, "http://plein/", "no service of that name; create it and add it to networking.outbound of Dataplane shop-1; or did you mean plain?"},
		{limited, "http://pay:81/", "add MeshService pay.east port 81 to networking.transparentProxying.reachableBackends of Dataplane shop-1"},
		{limited, "http://241.0.0.9/", "add MeshService pay.north port 80 to networking.transparentProxying.reachableBackends"},
		{limited, "http://plain/", "that service has no MeshService with this port; create one, or add MeshService plain to networking.outbound"},
		{limited, "http://vip:9/", "it reaches that service at http://vip:80"},
		{limited, "http://nobody/", ""},
		{limited, "http://127.0.0.1:9/", ""},
	} {
		r := town()
		r.Dataplane.Spec = &api.Dataplane{Networking: &api.Networking{TransparentProxying: c.how}}
		r.Outbounds[len(r.Outbounds)-1].Destination.VIPs = []string{"241.0.0.1"}
		v, err := sim.Run(alone{r, others}, r.Ref, wire.Request{URL: c.url})
		var lost *lookup.NotReached
		switch {
		case c.want == "" && (err != nil || v.Branches[0].Outcome != sim.Passthrough):
			t.Errorf("%s: %v, wanted it to pass through", c.url, err)
		case c.want != "" && (!errors.As(err, &lost) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v does not say %q", c.url, err, c.want)
		}
	}
}

func TestUnusableBackends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		backends []effective.Backend
		want     string // outcome status: name=share/status …
	}{
		"split":                {[]effective.Backend{to("v1", 90), to("v2", 10)}, "forward 0: v1=0.9/0 v2=0.1/0"},
		"weight 0 gets none":   {[]effective.Backend{to("v1", 0), to("v2", 3)}, "forward 0: v2=1/0"},
		"one is not there":     {[]effective.Backend{to("v1", 9), lost(1)}, "forward 0: v1=0.9/0 nosuch=0.1/500"},
		"one has no endpoints": {[]effective.Backend{to("v1", 1), to("empty", 1)}, "forward 0: v1=0.5/0 empty=0.5/503"},
		"none is there":        {[]effective.Backend{lost(1), lost(2)}, "respond 500: nosuch=0.3333/500 nosuch=0.6667/500"},
		"all weights 0":        {[]effective.Backend{to("v1", 0)}, "respond 500:"},
		"nobody answers":       {[]effective.Backend{to("empty", 1)}, "respond 503: empty=1/503"},
		"500 or 503":           {[]effective.Backend{to("empty", 1), lost(1)}, "forward 0: empty=0.5/503 nosuch=0.5/500"},
	} {
		v, err := run(shop(everything(c.backends...)), wire.Request{URL: "http://web:8080/"})
		if err != nil {
			t.Fatal(err)
		}
		if got := outcomeText(v.Branches[0]); got != c.want {
			t.Errorf("%s: %s, wanted %s", name, got, c.want)
		}
	}
}

func TestHostOfABackendOutsideTheMesh(t *testing.T) {
	t.Parallel()
	r := shop(everything(to("v1", 1), to("v2", 1)))
	outside := &r.Clusters[1]
	outside.Destination.External = &api.MeshExternalService{}
	outside.List[0].Address = "api.example.org"
	v, err := run(r, wire.Request{URL: "http://web:8080/x"})
	if err != nil {
		t.Fatal(err)
	}
	b := v.Branches[0]
	if b.Forwarded.Authority != "web:8080" || b.Backends[0].Forwarded != nil || b.Backends[1].Forwarded.Authority != "api.example.org" {
		t.Errorf("%s", jsonText(b))
	}
}

func TestHeadersInJSON(t *testing.T) {
	t.Parallel()
	var h wire.Headers
	if err := h.UnmarshalJSON([]byte(`{"X-A": "1", "x-b": ["2", " 3 "]}`)); err != nil {
		t.Fatal(err)
	}
	if got := jsonText(h); got != `{"x-a":"1","x-b":"2,3"}` || len(h.Values("x-b")) != 2 {
		t.Errorf("%s %q", got, h)
	}
	if err := h.UnmarshalJSON([]byte(`{"x": 1}`)); err == nil || !strings.Contains(err.Error(), "headers.x") {
		t.Errorf("a number as value: %v", err)
	}
}

// TestAQuestionCompilesNothing: conditions are made when their object is read, so
// expressions cost a question no more than prefixes do.
func TestAQuestionCompilesNothing(t *testing.T) { // not parallel: it counts allocations
	allocations := func(ask func(string) match.Condition) float64 {
		var routes []*effective.Route
		for i := range 10 {
			r := everything(to("v1", 1))
			r.Match = matches.Of(ask("/v" + strconv.Itoa(i) + "/x"))
			routes = append(routes, r)
		}
		r := shop(append(routes, everything(to("v1", 1)))...)
		return testing.AllocsPerRun(20, func() {
			if v, err := run(r, wire.Request{URL: "http://web:8080/other"}); err != nil || len(v.Missed) != 10 {
				t.Fatal(v, err)
			}
		})
	}
	if prefixes, expressions := allocations(prefix), allocations(regex); expressions > prefixes+10 {
		t.Errorf("a question allocates %v times with expressions, %v with prefixes", expressions, prefixes)
	}
}
