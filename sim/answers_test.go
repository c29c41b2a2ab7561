package sim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/buckets"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/wire"
)

// TestAServiceIsSuggestedOnce: however many ports of it the dataplane calls, in
// whatever order.
func TestAServiceIsSuggestedOnce(t *testing.T) {
	t.Parallel()
	r := shop()
	for i, name := range []string{"wed", "web", "wed"} {
		r.Outbounds = append(r.Outbounds, &effective.Outbound{Address: "127.0.0.1", Port: uint32(10002 + i),
			Destination: &effective.Destination{Kind: api.KindMeshService, Name: name, Port: uint32(81 + i)}})
	}
	_, err := run(r, wire.Request{URL: "http://wex:8080/"})
	if want := "did you mean web or wed?"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v does not end in %q", err, want)
	}
}

// TestPortsOfAClassicService: it has no port of its own, so those of its inbounds
// mean it, and no other.
func TestPortsOfAClassicService(t *testing.T) {
	t.Parallel()
	old := &effective.Destination{ID: "old", Kind: api.KindMeshService, Name: "old", Protocol: api.HTTP}
	r := shop()
	r.Outbounds = append(r.Outbounds, &effective.Outbound{Address: "127.0.0.1", Port: 10002, Destination: old,
		Table: &effective.Table{Destination: old, Routes: []*effective.Route{everything(to("old", 1))}}})
	for url, reached := range map[string]bool{"http://old/": true, "http://old:80/": true, "http://old:10002/": true, "http://old:8080/": false, "http://old:9999/": false} {
		if _, err := run(r, wire.Request{URL: url}); (err == nil) != reached {
			t.Errorf("%s without endpoints: %v", url, err)
		}
	}
	r.Clusters = append(r.Clusters, effective.ClusterUse{Cluster: &effective.Cluster{Name: "old", Destination: old},
		Endpoints: &effective.Endpoints{Name: "old", List: []effective.Endpoint{{Address: "127.0.0.2", Port: 8080}}}})
	slices.SortFunc(r.Clusters, func(a, b effective.ClusterUse) int { return strings.Compare(a.Cluster.Name, b.Cluster.Name) })
	for url, reached := range map[string]bool{"http://old/": true, "http://old:8080/": true, "http://old:9999/": false} {
		_, err := run(r, wire.Request{URL: url})
		var lost *lookup.NotReached
		if (err == nil) != reached || err != nil && !errors.As(err, &lost) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestLaterChangesOfAnAnswer: filters change the headers of an answer one after
// the other, and the verdict shows what is left in the end.
func TestLaterChangesOfAnAnswer(t *testing.T) {
	t.Parallel()
	set := func(v string) *route.HeaderModifier {
		return &route.HeaderModifier{Set: []route.Header{{Name: "X", Value: v}}}
	}
	add := func(v string) *route.HeaderModifier {
		return &route.HeaderModifier{Add: []route.Header{{Name: "X", Value: v}}}
	}
	remove := &route.HeaderModifier{Remove: []string{"X"}}
	for name, c := range map[string]struct {
		changes []*route.HeaderModifier
		want    string
	}{
		"the last set holds":         {[]*route.HeaderModifier{set("1"), set("2")}, `{"set":{"x":"2"}}`},
		"set forgets what was added": {[]*route.HeaderModifier{add("1"), set("2")}, `{"set":{"x":"2"}}`},
		"set after remove":           {[]*route.HeaderModifier{remove, set("2")}, `{"set":{"x":"2"}}`},
		"add after set":              {[]*route.HeaderModifier{set("1"), add("2")}, `{"set":{"x":"1"},"add":{"x":"2"}}`},
		"added twice":                {[]*route.HeaderModifier{add("1"), add("2")}, `{"add":{"x":"1,2"}}`},
		"remove after all":           {[]*route.HeaderModifier{set("1"), add("2"), remove, remove}, `{"remove":["x"]}`},
		"add after remove":           {[]*route.HeaderModifier{remove, add("2")}, `{"add":{"x":"2"},"remove":["x"]}`},
		"nothing":                    {[]*route.HeaderModifier{{}}, `null`},
	} {
		rt := everything(to("v1", 1))
		for _, m := range c.changes {
			rt.Filters = append(rt.Filters, route.Filter{ResponseHeaders: m})
		}
		v, err := run(shop(rt), wire.Request{URL: "http://web:8080/"})
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonText(v.Branches[0].ResponseHeaders); got != c.want {
			t.Errorf("%s: %s, wanted %s", name, got, c.want)
		}
	}
}

// TestHeadersOfOwnAnswers: an answer without a body has no content type to
// change, and the location of a redirect may be set like any other header.
func TestHeadersOfOwnAnswers(t *testing.T) {
	t.Parallel()
	m := &route.HeaderModifier{Set: []route.Header{{Name: "Content-Type", Value: "text/x"}, {Name: "Location", Value: "http://there/"}},
		Add: []route.Header{{Name: "content-type", Value: "text/y"}}}
	for name, c := range map[string]struct {
		rt   *effective.Route
		want string // location, then the changes
	}{
		"redirect":  {&effective.Route{Answer: &route.Redirect{Status: 301}}, `http://there/ {"set":{"location":"http://there/"}}`},
		"500":       {everything(lost(1)), ` {"set":{"location":"http://there/"}}`},
		"forwarded": {everything(to("v1", 1)), ` {"set":{"content-type":"text/x","location":"http://there/"},"add":{"content-type":"text/y"}}`},
	} {
		c.rt.Filters = append(c.rt.Filters, route.Filter{ResponseHeaders: m})
		v, err := run(shop(c.rt), wire.Request{URL: "http://web:8080/"})
		if err != nil {
			t.Fatal(err)
		}
		b := v.Branches[0]
		if got := b.Location + " " + jsonText(b.ResponseHeaders); got != c.want {
			t.Errorf("%s: %s, wanted %s", name, got, c.want)
		}
	}
}

// TestTokens: a bucket begins full, is filled at a steady rate and holds no more
// than its size.
func TestTokens(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for name, c := range map[string]struct {
		bucket buckets.Bucket
		at     []time.Duration
		want   string
	}{
		"one a second":         {buckets.Bucket{Tokens: 1, Interval: time.Second}, []time.Duration{0, 0, 999 * ms, 1000 * ms, 1500 * ms, 2000 * ms}, "[true false false true false true]"},
		"full at the start":    {buckets.Bucket{Tokens: 3, Interval: time.Second}, []time.Duration{0, 0, 0, 0}, "[true true true false]"},
		"no more than it hold": {buckets.Bucket{Tokens: 2, Interval: time.Second}, []time.Duration{9000 * ms, 9000 * ms, 9000 * ms}, "[true true false]"},
		"with a burst":         {buckets.Bucket{Tokens: 1, Burst: 2, Interval: time.Second}, []time.Duration{0, 0, 0, 0, 1000 * ms, 1000 * ms, 9000 * ms}, "[true true true false true false true]"},
		"none":                 {buckets.Bucket{Interval: time.Second}, []time.Duration{0, 9000 * ms}, "[false false]"},
		"never filled":         {buckets.Bucket{Tokens: 1}, []time.Duration{0}, "[false]"},
		"nobody asks":          {buckets.Bucket{Tokens: 1, Interval: time.Second}, nil, "[]"},
	} {
		if got := fmt.Sprint(c.bucket.Admit(c.at)); got != c.want {
			t.Errorf("%s: %s, wanted %s", name, got, c.want)
		}
	}
}

// TestHeadersThatNobodyReads: where no proxy reads a request its headers arrive
// as sent, named as HTTP names them, and Host is the authority rather than one.
func TestHeadersThatNobodyReads(t *testing.T) {
	t.Parallel()
	r := town()
	r.Dataplane.Spec = &api.Dataplane{Networking: &api.Networking{TransparentProxying: &api.TransparentProxying{}}}
	for _, url := range []string{"http://elsewhere/x?y", "http://db:5432/x?y"} {
		v, err := run(r, wire.Request{Method: "PUT", URL: url, Headers: wire.Headers{" HOST ": "h", " X-A ": "1", "Connection": "upgrade"}})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"method":"PUT","authority":"h","path":"/x?y","headers":{"connection":"upgrade","x-a":"1"}}`
		if got := jsonText(v.Branches[0].Forwarded); got != want {
			t.Errorf("%s: %s, wanted %s", url, got, want)
		}
	}
}

// TestHostOfTheOnlyBackendOutside: the whole request gets the backend's name,
// unless a filter gives it another; an address is no name.
func TestHostOfTheOnlyBackendOutside(t *testing.T) {
	t.Parallel()
	renamed := route.Filter{Rewrite: &route.Rewrite{Hostname: "mine"}}
	for name, c := range map[string]struct {
		address string
		filters []route.Filter
		share   []effective.Backend
		want    string
	}{
		"its own":         {"api.example.org", nil, []effective.Backend{to("v2", 1)}, "api.example.org"},
		"the filter's":    {"api.example.org", []route.Filter{renamed}, []effective.Backend{to("v2", 1)}, "mine"},
		"an address":      {"192.0.2.1", nil, []effective.Backend{to("v2", 1)}, "web:8080"},
		"a socket":        {"unix:///run/x", nil, []effective.Backend{to("v2", 1)}, "web:8080"},
		"others get none": {"api.example.org", nil, []effective.Backend{to("v1", 0), to("v2", 1)}, "api.example.org"},
	} {
		rt := everything(c.share...)
		rt.Filters = c.filters
		r := shop(rt)
		r.Clusters[1].Destination.External = &api.MeshExternalService{}
		r.Clusters[1].List[0].Address = c.address
		v, err := run(r, wire.Request{URL: "http://web:8080/"})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Branches[0].Forwarded.Authority; got != c.want {
			t.Errorf("%s: authority %s, wanted %s", name, got, c.want)
		}
	}
}

// TestWhatIsNoRequest: a name or value that no client could send is refused, and
// so is an edge proxy's traffic to nowhere, by itself.
func TestWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	_, err := run(shop(), wire.Request{URL: "http://web:8080/", Headers: wire.Headers{"x": "a\rb"}})
	if err == nil || !strings.Contains(err.Error(), "headers.x") || !strings.Contains(err.Error(), "control character") {
		t.Errorf("a carriage return: %v", err)
	}
	for body, want := range map[string]string{
		`{"headers": {"x": "a\nb"}}`:   "line feed",
		`{"headers": {"x": ["a\nb"]}}`: "line feed",
		`{"headers": {"x": 1}}`:        "not a text",
	} {
		if err := json.Unmarshal([]byte(body), new(wire.Request)); err == nil || !strings.Contains(err.Error(), "headers.x: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	r := shop()
	r.Dataplane.Spec = &api.Dataplane{Networking: &api.Networking{Gateway: &api.Gateway{Type: "BUILTIN"}}}
	if _, err := run(r, wire.Request{URL: "http://nowhere/"}); err == nil || !strings.Contains(err.Error(), "give it one in networking.gateway.listeners") {
		t.Errorf("an edge that listens nowhere: %v", err)
	}
	r.Edges = []effective.EdgeUse{{Edge: &effective.Edge{Port: 80}}}
	v, err := run(r, wire.Request{URL: "http://nowhere/"})
	if err != nil || v.Branches[0].Status != 404 || v.Branches[0].Outcome != sim.Respond {
		t.Errorf("%+v %v", v.Branches, err)
	}
}

// TestARepeatedHeaderIsReadInOneOrder: two spellings of a name are one header, and
// no map decides the order of its values.
func TestARepeatedHeaderIsReadInOneOrder(t *testing.T) {
	t.Parallel()
	for range 100 {
		var q wire.Request
		if err := json.Unmarshal([]byte(`{"headers": {"x": ["b", "c"], "X": "a"}}`), &q); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(q.Headers.Values("x"), " "); got != "a b c" {
			t.Fatal(got)
		}
	}
}

// TestTCPWithoutBackends: nothing answers where nobody is.
func TestTCPWithoutBackends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tcp  *effective.TCPTable
		want string
	}{
		"no table":     {nil, "close 0:"},
		"no backend":   {&effective.TCPTable{}, "close 0:"},
		"no endpoints": {&effective.TCPTable{Backends: []effective.Backend{to("empty", 1)}}, "close 0: empty=1/close"},
		"nobody there": {&effective.TCPTable{Backends: []effective.Backend{lost(1), to("v1", 0)}}, "close 0: nosuch=1/close"},
		"one of two":   {&effective.TCPTable{Backends: []effective.Backend{to("empty", 1), to("v1", 1)}}, "forward 0: empty=0.5/close v1=0.5/0"},
	} {
		r := shop()
		r.Outbounds[0].Table, r.Outbounds[0].TCP = nil, c.tcp
		v, err := run(r, wire.Request{URL: "http://web:8080/"})
		if err != nil {
			t.Fatal(err)
		}
		if got := outcomeText(v.Branches[0]); got != c.want {
			t.Errorf("%s: %s, wanted %s", name, got, c.want)
		}
	}
}

// TestNoPathHasAFragment: Envoy answers a request with 400 of which the path has a #, whatever routes
// there are, and one that a client keeps for itself is none to ask for.
func TestNoPathHasAFragment(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://web:8080/a#part", "http://web:8080/a?q=1#part", "http://web:8080/#"} {
		v, err := run(shop(everything(to("v2", 1))), wire.Request{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if b := v.Branches[0]; b.Outcome != sim.Respond || b.Status != 400 {
			t.Errorf("%s: %s", url, outcomeText(b))
		}
	}
}

// TestEncodedPaths: what needs no encoding is decoded before routes see the path,
// and nothing else is touched (Envoy's normalize_path).
func TestEncodedPaths(t *testing.T) {
	t.Parallel()
	for path, seen := range map[string]string{
		"/a%41": "/aA", "/%7e%2D%2e%5F": "/~-._", "/x41y": "/x41y", "/a%2f": "/a%2f", "/a%2": "/a%2", "/a%": "/a%", "/%zz": "/%zz",
		"/a/%2E%2E/b": "/b", "/a/..;x/b": "/b", "/a;x": "/a;x",
		"/a|b^": "/a%7Cb%5E", `/a\b`: "/a/b", "/a..b/.c//d": "/a..b/.c//d", "/a/./b/..": "/a/",
	} {
		one := everything(to("v1", 1))
		one.Name, one.Match = "exact", matches.Of(exact(seen))
		v, err := run(shop(one, everything(to("v2", 1))), wire.Request{URL: "http://web:8080" + path})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		b := v.Branches[0]
		if b.Route == nil || b.Route.Name != "exact" {
			t.Errorf("%s is not seen as %s: %+v", path, seen, b)
		}
	}
}

// TestAnswersAreFilledByWhatTheirBackendGot: a header of the answer that says which path or header the request had
// says what the backend of that answer was sent, where backends are sent different ones.
func TestAnswersAreFilledByWhatTheirBackendGot(t *testing.T) {
	t.Parallel()
	told := []route.Filter{{ResponseHeaders: &route.HeaderModifier{Fill: []route.Filled{{Name: "x-sent", Parts: []route.Part{{Header: "x-shard"}}}}}}}
	shard := func(name string) effective.Backend {
		b := to(name, 1)
		b.Filters = []route.Filter{{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: "x-shard", Value: name}}}}}
		return b
	}
	rt := everything(shard("v1"), shard("v2"))
	rt.Filters = told
	v, err := run(shop(rt), wire.Request{URL: "http://web:8080/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range v.Branches[0].Backends {
		if b.ResponseHeaders == nil || b.ResponseHeaders.Set["x-sent"] != b.Name {
			t.Errorf("an answer of %s has %+v", b.Name, b.ResponseHeaders)
		}
	}
}

// TestPortsOfRedirects: the port that a client wrote stays in the location of a redirect to its host, but where
// the redirect names one, or leaves the scheme whose own port it is.
func TestPortsOfRedirects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		proto, host string
		to          route.Redirect
		want        string
	}{
		{"http", "web:80", route.Redirect{Scheme: "https"}, "https://web/"},
		{"http", "web:443", route.Redirect{Scheme: "https"}, "https://web:443/"},
		{"http", "web:8080", route.Redirect{Scheme: "https"}, "https://web:8080/"},
		{"https", "web:443", route.Redirect{Scheme: "http"}, "http://web/"},
		{"https", "web:80", route.Redirect{Scheme: "http"}, "http://web:80/"},
		{"https", "web:443", route.Redirect{Scheme: "https"}, "https://web:443/"},
		{"http", "web:8080", route.Redirect{Port: 9090}, "http://web:9090/"},
		{"http", "web:8080", route.Redirect{Hostname: "other"}, "http://other/"},
	} {
		rt := everything()
		rt.Answer = &c.to
		v, err := run(shop(rt), wire.Request{URL: "http://web:8080/", Headers: wire.Headers{"host": c.host, "x-forwarded-proto": c.proto}})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Branches[0].Location; got != c.want {
			t.Errorf("%s at %s, to %+v: %s, not %s", c.proto, c.host, c.to, got, c.want)
		}
	}
}
