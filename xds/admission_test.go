package xds_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/routes"
)

// kept is a value that admission keeps out because of what Envoy does with it.
type kept struct {
	name string
	// document is a policy's conf or, where kind is empty, a rule of a MeshHTTPRoute,
	// in JSON; says is in what admission answers.
	kind, document, says string
	// rule is the same value past admission, where it is no policy's.
	rule *effective.Route
	// ask is sent by a route with the value; want is what comes of it, by default
	// that Envoy refuses the route.
	ask  envoytest.Wire
	want string
}

// isRefused is where nothing is asked: no case without a want gets any further.
const isRefused = "Envoy refuses the route"

// filtered is a rule with one filter, in JSON, and the same as a route.
func filtered(filter string, f route.Filter) (document string, r *effective.Route) {
	document = `{"matches":[{"path":{"type":"PathPrefix","value":"/"}}],"default":{"filters":[` + filter + `]}}`
	return document, rule("spoiled", path(match.SegmentPrefix, "/"), f)
}

// ofFilter is a case of one.
func ofFilter(name, says, filter string, f route.Filter, want string) kept {
	document, r := filtered(filter, f)
	return kept{name: name, document: document, says: says, rule: r, want: want}
}

// ofMatch is a case of a match and one request that it asks for.
func ofMatch(name, says, written string, c match.Condition, ask envoytest.Wire, want string) kept {
	return kept{name: name, document: `{"matches":[` + written + `],"default":{}}`, says: says, rule: rule("spoiled", match.Match{Conditions: match.Conditions{c}}), ask: ask, want: want}
}

// setting is a filter of requests that sets a header.
func setting(name, value string) (string, route.Filter) {
	return fmt.Sprintf(`{"type":"RequestHeaderModifier","requestHeaderModifier":{"set":[{"name":%q,"value":%s}]}}`, name, jsonOf(value)),
		route.Filter{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: name, Value: value}}}}
}

func rewriting(path string) (string, route.Filter) {
	return `{"type":"URLRewrite","urlRewrite":{"path":{"type":"ReplaceFullPath","replaceFullPath":` + jsonOf(path) + `}}}`,
		route.Filter{Rewrite: &route.Rewrite{Path: &route.PathRewrite{Full: &path}}}
}

func renaming(host string) (string, route.Filter) {
	return `{"type":"URLRewrite","urlRewrite":{"hostname":` + jsonOf(host) + `}}`, route.Filter{Rewrite: &route.Rewrite{Hostname: host}}
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is a text
	}
	return string(b)
}

// admissionCases are those that stand for one bound or class of characters each.
func admissionCases() []kept {
	out := []kept{
		{name: "an interval of nothing", kind: "MeshRetry", document: `{"http":{"backOff":{"baseInterval":"0s"}}}`, says: "must be longer than 0s"},
		{name: "a longest interval of nothing", kind: "MeshRetry", document: `{"http":{"rateLimitedBackOff":{"resetHeaders":[{"name":"a","format":"Seconds"}],"maxInterval":"0s"}}}`, says: "must be longer than 0s"},
		{name: "a reset header without a name", kind: "MeshRetry", document: `{"http":{"rateLimitedBackOff":{"resetHeaders":[{"name":"","format":"Seconds"}]}}}`, says: "name of the header"},
		{name: "a reset header with a blank", want: "200 with web /", kind: "MeshRetry", document: `{"http":{"rateLimitedBackOff":{"resetHeaders":[{"name":"a b","format":"Seconds"}]}}}`, says: "header"},
		{name: "an attempt that runs backwards", kind: "MeshRetry", document: `{"http":{"perTryTimeout":"-1s"}}`, says: "is negative"},
		{name: "a request that runs backwards", kind: "MeshTimeout", document: `{"http":{"requestTimeout":"-1s"}}`, says: "is negative"},
		{name: "a silence that runs backwards", kind: "MeshTimeout", document: `{"http":{"streamIdleTimeout":"-1s"}}`, says: "is negative"},
		{name: "a bucket without tokens", kind: "MeshRateLimit", document: `{"local":{"http":{"requestRate":{"num":0,"interval":"1s"}}}}`, says: "must be at least 1"},
		{name: "a bucket filled too often", kind: "MeshRateLimit", document: `{"local":{"http":{"requestRate":{"num":1,"interval":"49ms"}}}}`, says: "50ms"},
		{name: "a status that Envoy does not know", kind: "MeshRateLimit", document: limited(`"status":420`), says: "420"},
		{name: "the host in the answer of a limit", kind: "MeshRateLimit", document: limited(`"headers":{"set":[{"name":"host","value":"a"}]}`), says: "host"},
		{name: "a pseudo header in the answer of a limit", kind: "MeshRateLimit", document: limited(`"headers":{"set":[{"name":":status","value":"200"}]}`), says: "pseudo"},
		{name: "a line break in the answer of a limit", kind: "MeshRateLimit", document: limited(`"headers":{"add":[{"name":"a","value":"b\nc"}]}`), says: "control character"},
		{name: "a time below a millisecond", kind: "MeshTimeout", document: `{"http":{"requestTimeout":"500us"}}`, says: "can tell from zero", ask: slow, want: "200 with web /"},
		{name: "an attempt below a millisecond", kind: "MeshRetry", document: `{"http":{"perTryTimeout":"500us","retryOn":["5xx"]}}`, says: "can tell from zero", ask: slow, want: "200 with web /"},
	}
	for _, c := range []struct {
		name, says string
		make       func(string) (string, route.Filter)
		value      string
		want       string
	}{
		{"a path with a line break", "control character", rewriting, "/a\nb", isRefused},
		{"a path with a blank", "space", rewriting, "/a b", "502"},
		{"a path beyond ASCII", "no URL has", rewriting, "/é", "200 with web /%C3%A9"},
		{"a path with a fragment", "fragment", rewriting, "/a#b", "400"},
		{"a host with a blank", "a b", renaming, "a b", "502"},
		{"a host beyond ASCII", "é", renaming, "é", "502"},
	} {
		document, f := c.make(c.value)
		out = append(out, ofFilter(c.name, c.says, document, f, c.want))
	}
	for _, c := range []struct{ name, header, value, says, want string }{
		{"the host as a header", "host", "a", "urlRewrite", isRefused},
		{"a pseudo header", ":path", "/", "is not a header", isRefused},
		{"a name with a blank", "a b", "1", "valid header name", "503"},
		{"no name", "", "1", "name of the header", isRefused},
		{"a line break in a value", "a", "b\nc", "line break", isRefused},
		{"a value over 16 KiB", "a", strings.Repeat("v", 16<<10+1), "bytes", isRefused},
		{"a control character in a value", "a", "b\x01c", "control character", "503"},
	} {
		document, f := setting(c.header, c.value)
		out = append(out, ofFilter(c.name, c.says, document, f, c.want))
	}
	port := ofFilter("a port that is none", "port", `{"type":"RequestRedirect","requestRedirect":{"port":65536}}`, route.Filter{}, "302") // to where no client can follow
	port.rule.Answer = &route.Redirect{Port: 65536}
	return append(out, port,
		ofMatch("a match by no expression", "is missing", `{"path":{"type":"RegularExpression","value":""}}`, unchecked(""), envoytest.Wire{}, isRefused),
		ofMatch("a match by what is no expression", "wrong", `{"path":{"type":"RegularExpression","value":"/(["}}`, unchecked("/(["), envoytest.Wire{}, isRefused),
		ofMatch("a match by a large expression", "too large", `{"path":{"type":"RegularExpression","value":"(?:abcdefghij){900}"}}`, unchecked("(?:abcdefghij){900}"), envoytest.Wire{}, isRefused),
		ofMatch("a path beyond ASCII to match", "no URL has", `{"path":{"type":"Exact","value":"/é"}}`, match.Condition{On: match.OnPath, Op: match.Equal, Value: "/é"}, envoytest.Wire{Target: "/é"}, "400"),
		ofMatch("a query in a path to match", "query", `{"path":{"type":"Exact","value":"/a?b"}}`, match.Condition{On: match.OnPath, Op: match.Equal, Value: "/a?b"}, envoytest.Wire{Target: "/a?b"}, "404"),
		ofMatch("a parameter beyond ASCII to match", "no URL has", `{"queryParams":[{"type":"Exact","name":"q","value":"é"}]}`, match.Condition{On: match.OnQuery, Op: match.Equal, Name: "q", Value: "é"}, envoytest.Wire{Target: "/?q=é"}, "400"),
		ofMatch("a control character to match", "control character", `{"headers":[{"type":"Exact","name":"a","value":"b\u0001"}]}`, match.Condition{On: match.OnHeader, Op: match.Equal, Name: "a", Value: "b\x01"},
			envoytest.Wire{Lines: []envoytest.Line{{Name: "a", Value: "b\x01"}}}, "400"),
	)
}

// slow asks for what takes longer than any bound of these tests.
var slow = envoytest.Wire{Lines: []envoytest.Line{{Name: envoytest.ScriptHeader, Value: "slow:300ms"}}}

func limited(on string) string {
	return `{"local":{"http":{"requestRate":{"num":1,"interval":"1h"},"onRateLimit":{` + on + `}}}}`
}

// admitted is what admission says of the case.
func (c *kept) admitted() string {
	document := `{"type":"MeshHTTPRoute","mesh":"default","name":"a","spec":{"targetRef":{"kind":"Mesh"},"to":[{"targetRef":{"kind":"MeshService","name":"web"},"rules":[` + c.document + `]}]}}`
	if c.kind != "" {
		document = `{"type":"` + c.kind + `","mesh":"default","name":"a","spec":{"targetRef":{"kind":"Mesh"},"to":[{"targetRef":{"kind":"Mesh"},"default":` + c.document + `}]}}`
	}
	_, violations := world.Decode("a.json", []byte(document))
	var said []string
	for _, v := range violations {
		if v.Severity == api.Error {
			said = append(said, v.Error())
		}
	}
	return strings.Join(said, "; ")
}

// spoil puts the value into a route of Envoy's.
func (c *kept) spoil(t *testing.T, r *routev3.Route) *routev3.Route {
	t.Helper()
	conf := map[string]envoy.RouteWriter{"MeshRetry": &retry.Conf{}, "MeshTimeout": &timeout.Conf{}, "MeshRateLimit": &ratelimit.Conf{}}[c.kind]
	if conf == nil {
		c.rule.Backends = []effective.Backend{to("web:8080", 1)}
		return routes.Unchecked(c.rule)
	}
	if err := json.Unmarshal([]byte(c.document), conf); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	conf.WriteRoute(r, envoy.Place{Protocol: api.HTTP})
	return r
}

// spoiled is an Envoy that is two sidecars, the routes of the caller's with the value
// of one case each, and where it listens for each.
func spoiled(t *testing.T, cases []kept, app *envoytest.Backend) (*envoytest.Files, []*effective.Outbound) {
	t.Helper()
	in := &effective.Inbound{Address: "127.0.0.1", Port: envoytest.Port(t), ServiceAddress: app.Host, ServicePort: app.Port, Protocol: api.HTTP}
	hop := use("web:8080", web(), effective.Endpoint{Address: in.Address, Port: in.Port})
	hop.Cluster.HTTP2 = true
	r := sidecar(nil, []effective.ClusterUse{hop}, in)
	for i := range cases {
		tab := table()
		tab.Destination.ID = caseName(i)
		r.Outbounds = append(r.Outbounds, outbound(t, tab, nil))
	}
	state := renderer().Render(r)
	for i, c := range cases {
		edit(t, state, naming.Table(caseName(i)), func(host *routev3.VirtualHost) {
			host.Routes[0] = c.spoil(t, host.Routes[0])
		})
		if said := c.admitted(); said == "" || !strings.Contains(said, c.says) {
			t.Errorf("%s: admission says %q, want %q in it", c.name, said, c.says)
		}
	}
	return envoytest.Drive(t, state), r.Outbounds
}

// TestWhatAdmissionKeepsOutOfEnvoy: each value that admission refuses for Envoy's sake
// is shown to a real one, which refuses it or does what nobody can want.
func TestWhatAdmissionKeepsOutOfEnvoy(t *testing.T) {
	t.Parallel()
	cases := admissionCases()
	app := envoytest.StartBackend(t, "app")
	e, at := spoiled(t, cases, app)
	rejected := e.Stats("http.")
	for i, c := range cases {
		got := isRefused
		if !refusedBy(rejected, caseName(i)) {
			got = outcome(t, at[i].Port, i, c.ask, app)
		}
		if want := cmp.Or(c.want, isRefused); got != want {
			t.Errorf("%s: %s; want %s", c.name, got, want)
		}
	}
}

// TestWhatAdmissionKeepsEndsEnvoy: one request by a route with such a value ends the
// whole sidecar.
func TestWhatAdmissionKeepsEndsEnvoy(t *testing.T) {
	t.Parallel()
	for _, c := range []kept{
		{name: "priorities that are never looked at", kind: "MeshRetry", document: `{"http":{"hostSelection":[{"predicate":"OmitPreviousPriorities","updateFrequency":0}]}}`, says: "must be at least 1"},
		{name: "retries without end", kind: "MeshRetry", document: `{"http":{"numRetries":4294967295,"hostSelection":[{"predicate":"OmitPreviousPriorities","updateFrequency":2}]}}`, says: "keeps a place for each"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			app := envoytest.StartBackend(t, "app")
			e, at := spoiled(t, []kept{c}, app)
			if got := outcome(t, at[0].Port, 0, c.ask, app); got != "0" {
				t.Errorf("the request comes to %s", got)
			}
			envoytest.Settle(func() bool { _, _, err := e.Get("/ready"); return err != nil })
			if _, _, err := e.Get("/ready"); err == nil {
				t.Error("Envoy is still there")
			}
		})
	}
}

func caseName(i int) string { return "case-" + strconv.Itoa(i) }

// refusedBy reports whether Envoy counts a refusal of a route configuration.
func refusedBy(stats map[string]int, name string) bool {
	for stat, n := range stats {
		if n > 0 && strings.HasSuffix(stat, name+".update_rejected") {
			return true
		}
	}
	return false
}

// outcome is the status of a request, and where the workload got one its path.
func outcome(t *testing.T, port uint32, i int, q envoytest.Wire, app *envoytest.Backend) string {
	t.Helper()
	q.Version, q.Method, q.Authority = "1.1", "GET", "web"
	if q.Target == "" {
		q.Target = "/"
	}
	q.Lines = append(q.Lines, envoytest.Line{Name: envoytest.IDHeader, Value: caseName(i)})
	reply, err := envoytest.Send(net.JoinHostPort("127.0.0.1", fmt.Sprint(port)), q)
	if err != nil {
		t.Fatal(err)
	}
	out := strconv.Itoa(reply.Status)
	for _, s := range app.Seen(caseName(i)) {
		out += fmt.Sprintf(" with %s %s", s.Authority, s.Path)
	}
	return out
}
