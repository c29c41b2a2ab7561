package skipper_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds/filters"
)

var (
	callers   = regexp.MustCompile(`address: 10\.0\.0\.1, outbound: \[\{port: 80`)
	workloads = regexp.MustCompile(`address: 10\.0\.1\.[0-9]+, inbound: \[\{port: 8080`)
)

// guarded is the world of a story behind a real Envoy, with an authorization service.
type guarded struct {
	*envoytest.Authorizer
	t       *testing.T
	listen  uint32
	backend *envoytest.Backend
	model   *resolve.Model
}

func startGuarded(t *testing.T, documents string) *guarded {
	t.Helper()
	g := &guarded{Authorizer: envoytest.StartAuthorizer(t), t: t, listen: envoytest.Port(t), backend: envoytest.StartBackend(t, "s")}
	documents = callers.ReplaceAllString(documents, fmt.Sprintf("address: 127.0.0.1, outbound: [{port: %d", g.listen))
	documents = workloads.ReplaceAllString(documents, fmt.Sprintf("address: 127.0.0.1, inbound: [{port: %d", g.backend.Port))
	documents = strings.ReplaceAll(documents, "targetPort: 8080", fmt.Sprintf("targetPort: %d", g.backend.Port))
	objects, err := decode.Objects(world.Catalog(), "world.yaml", []byte(documents))
	if err != nil {
		t.Fatal(err)
	}
	settings := world.Settings{Authorizer: &filters.ExtAuthz{Host: "127.0.0.1", Port: g.Port}}
	g.model, _ = settings.Compile(world.Snapshot(objects...))
	r, _ := g.model.Dataplane(client)
	s := settings.Renderer().Quiet().Render(r)
	if len(s.Notes) > 0 {
		t.Fatalf("notes: %v", s.Notes)
	}
	envoytest.Drive(t, s)
	return g
}

// ask sends a request, wants its status, and holds the simulator against both if it is
// told what the service answers.
func (g *guarded) ask(method, url, token string, want int) *http.Response {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, url, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	q := wire.Request{Method: method, URL: url, Headers: wire.Headers{}, Authz: "allow"}
	if want >= 400 && want != http.StatusNotFound {
		q.Authz = strconv.Itoa(want)
	}
	if token != "" {
		req.Header.Set("Authorization", token)
		q.Headers.Add("authorization", token)
	}
	req.URL.Host = fmt.Sprintf("127.0.0.1:%d", g.listen)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		g.t.Errorf("%s %s %s: Envoy answers %d, want %d", method, url, token, resp.StatusCode, want)
	}
	if want == http.StatusTooManyRequests { // by a limit, which the simulator does not count
		return resp
	}
	v, err := sim.Run(g.model, client, q)
	if err != nil {
		g.t.Fatal(err)
	}
	b := &v.Branches[0]
	if got := int(b.Status); b.Outcome != sim.Forward && got != want || b.Outcome == sim.Forward && want != http.StatusOK {
		g.t.Errorf("%s %s: sim says %s %d, Envoy answers %d", method, url, b.Outcome, b.Status, want)
	}
	sets := ""
	if b.ResponseHeaders != nil {
		sets = b.ResponseHeaders.Set["x-a"]
	}
	if got := resp.Header.Get("x-a"); got != sets {
		g.t.Errorf("%s %s %s: sim sets x-a to %q, Envoy to %q", method, url, token, sets, got)
	}
	return resp
}

// story are the documents of one of testdata/stories.
func story(t *testing.T, name string) string {
	t.Helper()
	a, err := txtar.ParseFile("../../testdata/stories/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, f := range a.Files {
		if strings.HasSuffix(f.Name, ".yaml") {
			text = append(text, string(f.Data))
		}
	}
	return strings.Join(text, "---\n")
}

// TestAuthorizationInEnvoy: the rows S4 to S6 of spec/routegroup.md 8, with 401, 403 and
// 429 as their filters say; without an answer of the service nothing passes.
func TestAuthorizationInEnvoy(t *testing.T) {
	t.Parallel()
	google := `"iss":"https://accounts.google.com"`
	router, other := envoytest.Token(`{`+google+`,"email":"skipper-router@googlegroups.com"}`), envoytest.Token(`{`+google+`}`)
	stranger, scopes := envoytest.Token(`{"iss":"x"}`), envoytest.Token(`{"scope":["read.resource","list.resource"]}`)
	read, write := envoytest.Token(`{"scope":["myapp.read"]}`), envoytest.Token(`{"scope":["myapp.write"]}`)
	type question struct {
		method, token string
		want          int
	}
	for _, x := range []struct {
		story, url string
		asks       []question
		refused    question // what passed before
	}{
		{"routegroup-authorized-04", "http://complex.example.org/any", []question{
			{"PUSH", write, 200}, {"DELETE", write, 200}, {"PUT", read, 403}, {"PATCH", "", 401}, {"PATCH", "Basic eDp5", 401},
			{"GET", read, 200}, {"GET", write, 403}, {"GET", "", 401}, {"POST", write, 404}, {"OPTIONS", "", 404},
		}, question{"GET", read, 503}},
		{"routegroup-authorized-05", "http://api.example.org/api/resource", []question{
			{"POST", router, 403}, // the filter wants another email
			{"POST", other, 200}, {"POST", "", 401}, {"POST", other, 429},
			{"GET", scopes, 200}, {"GET", other, 403}, {"GET", "", 401},
		}, question{"GET", scopes, 503}},
		{"routegroup-authorized-06", "http://api.example.org/api/resource", []question{
			{"GET", router, 200}, {"GET", other, 200}, {"GET", stranger, 403}, {"GET", "", 401},
		}, question{"GET", router, 503}},
	} {
		t.Run(x.story, func(t *testing.T) {
			t.Parallel()
			g := startGuarded(t, story(t, x.story))
			for _, q := range x.asks {
				g.ask(q.method, x.url, q.token, q.want)
			}
			g.Stop()
			g.ask(x.refused.method, x.url, x.refused.token, x.refused.want)
		})
	}
}

// guards are routes of all that may answer.
const guards = `---
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: api}
spec:
  hosts: [api.example.org]
  backends: [{name: s, serviceName: s, servicePort: 80}, {name: shunt, type: shunt}, {name: again, type: loopback}]
  defaultBackends: [{backendName: s}]
  routes:
  - {path: /claims, predicates: ['JWTPayloadAnyKV("iss", "x", "iss", "y")'], filters: ['oauthTokeninfoAllScope("read")']}
  - {path: /claims}
  - {path: /two, filters: ['setResponseHeader("X-A", "b")', 'oauthTokeninfoAllScope("read")', 'oauthTokeninfoAnyKV("iss", "x", "iss", "y")']}
  - {path: /moved, filters: ['setResponseHeader("X-A", "b")', 'oauthTokeninfoAllScope("read")', 'redirectTo(308, "https://x.example/")']}
  - {path: /shunt, filters: ['setResponseHeader("X-A", "b")', 'inlineContent("hello", "text/plain")', 'oauthTokeninfoAllScope("read")'], backends: [{backendName: shunt}]}
  - {pathSubtree: /loop, filters: ['modPath("/loop", "/two")', 'oauthTokeninfoAllKV("sub", "s")'], backends: [{backendName: again}]}
  - {path: /unknown, filters: ['webhook("https://x.example")']}
`

// TestGuardedRoutesInEnvoy: every action waits for the authorization service, also one
// that only claims lead to; routes beside them do not ask.
func TestGuardedRoutesInEnvoy(t *testing.T) {
	t.Parallel()
	documents := strings.ReplaceAll(shop(), "inbound: [{port: 80,", "inbound: [{port: 8080,")
	documents = strings.ReplaceAll(documents, "ports: [{port: 80,", "ports: [{port: 80, targetPort: 8080,")
	g := startGuarded(t, documents+guards)
	reader, all := envoytest.Token(`{"scope":["read"]}`), envoytest.Token(`{"scope":["read"],"iss":"y","sub":"s"}`)
	at := func(path string) string { return "http://api.example.org" + path }
	g.ask("GET", at("/claims"), "", 200)
	g.ask("GET", at("/claims"), reader, 200) // has no iss
	if len(g.Asked()) > 0 {
		t.Errorf("the service was asked for a route without a check: %v", g.Asked())
	}
	g.ask("GET", at("/claims"), envoytest.Token(`{"iss":"x"}`), 403)
	g.ask("GET", at("/claims"), all, 200)
	g.ask("GET", at("/two"), reader, 403)
	g.ask("GET", at("/two"), all, 200)
	for _, path := range []string{"/two", "/moved", "/shunt", "/loop"} {
		g.ask("GET", at(path), "", 401)
	}
	if resp := g.ask("GET", at("/moved"), reader, 308); resp.Header.Get("location") == "" {
		t.Errorf("no location: %v", resp.Header)
	}
	g.ask("GET", at("/shunt"), reader, 200)
	g.ask("GET", at("/loop"), reader, 403)
	g.ask("GET", at("/loop"), all, 200)
	g.ask("GET", at("/unknown"), all, 403)
	asked := g.Asked()
	if got, want := asked[len(asked)-2], map[string]string{
		"filter": "oauthTokeninfoAllKV -> oauthTokeninfoAllScope -> oauthTokeninfoAnyKV", "args": `[["sub","s"],["read"],["iss","x","iss","y"]]`,
	}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("asked %v, want %v", got, want)
	}
	g.Stop()
	for _, path := range []string{"/two", "/moved", "/shunt", "/loop", "/unknown"} {
		g.ask("GET", at(path), all, 503)
	}
	g.ask("GET", at("/claims"), "", 200)
}

// TestGuardsWithoutService: a group that asks is not applied, however many of its routes
// do, and another one is.
func TestGuardsWithoutService(t *testing.T) {
	t.Parallel()
	m := mesh(t, guards+strings.NewReplacer("name: api}", "name: open}", "api.example.org", "open.example.org").Replace(limits[:strings.Index(limits, "---\ntype")]))
	r, _ := m.Dataplane(client)
	for _, o := range r.Outbounds {
		if o.Destination.Name == "api.example.org" {
			t.Errorf("%s is served", o.Destination.Name)
		}
	}
	if len(r.Outbounds) != 1 || r.Outbounds[0].Destination.Name != "open.example.org" {
		t.Errorf("outbounds: %v", r.Outbounds)
	}
	found := 0
	for _, n := range m.Reader(nil).NotesOn(api.Ref{Kind: "RouteGroup", Mesh: "default", Namespace: "default", Name: "api"}) {
		if n.Severity == api.Error && n.Code == "UnsupportedFilter" && strings.Contains(n.Message, "no ext_authz provider is configured") {
			found++
		}
	}
	if found != 7 {
		t.Errorf("%d notes on filters, want one for each of 7", found)
	}
}
