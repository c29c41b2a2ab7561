package server_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// ruled is a strict inbound of a sidecar that callers ask who have proved who they are.
type ruled struct {
	*plane
	by     *proving
	in     uint32
	known  map[string]*http.Client
	server *envoytest.Envoy
}

func startRuled(t *testing.T, documents ...string) *ruled {
	t.Helper()
	return startRuledBy(t, world.Kinds(), documents...)
}

func startRuledBy(t *testing.T, kinds []*policies.Kind, documents ...string) *ruled {
	t.Helper()
	app := envoytest.StartBackend(t, "app")
	r := &ruled{in: envoytest.Port(t), known: map[string]*http.Client{}}
	r.plane = silent(t, func(o *server.Options) {
		r.by = newProving(t, xds.NewRenderer(kinds))
		o.Renderer = r.by
	})
	if !slices.ContainsFunc(documents, func(d string) bool { return strings.HasPrefix(d, "{type: Dataplane") }) {
		documents = append(documents, fmt.Sprintf(`{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {app: web}}, ports: [{port: 80, targetPort: web, appProtocol: http}]}}
---
{type: Dataplane, mesh: default, name: server, networking: {address: 127.0.0.1, inbound: [
  {name: web, port: %d, serviceAddress: 127.0.0.1, servicePort: %d, tags: {kuma.io/service: web, app: web, kuma.io/protocol: http}}]}}`, r.in, app.Port))
	}
	objects := r.objects(documents...)
	objects = append(objects, mtlsMesh(t, "STRICT"), r.by.trust(), heard("server", true, true))
	r.snapshot = snapshot.New(1, objects...)
	r.model, _ = resolve.Compile(r.snapshot, world.Dialects(), kinds)
	r.Publish(r.model, everybody)
	r.server = r.envoy("server", syncstatus.Delta)
	r.synced("server")
	return r
}

// objects are those of documents, which may have warnings.
func (p *plane) objects(documents ...string) (out []*api.Object) {
	p.t.Helper()
	for _, d := range documents {
		o, err := decode.Objects(world.Catalog(), "test.yaml", []byte(d))
		if api.Refuses(err) {
			p.t.Fatal(err)
		}
		out = append(out, o...)
	}
	return out
}

// ask is the status of a request written 'who METHOD path'.
func (r *ruled) ask(text string) int {
	r.t.Helper()
	f := strings.Fields(text)
	c, scheme := r.known[f[0]], "https"
	if f[0] == "-" { // in plaintext
		c, scheme = http.DefaultClient, "http"
	}
	if c == nil {
		c = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, NextProtos: []string{"weft"}, Certificates: []tls.Certificate{r.by.leaf("spiffe://default/" + f[0])}}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		r.t.Cleanup(c.CloseIdleConnections)
		r.known[f[0]] = c
	}
	q, err := http.NewRequest(f[1], fmt.Sprintf("%s://127.0.0.1:%d", scheme, r.in), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if q.URL.Path, err = url.PathUnescape(f[2]); err != nil {
		r.t.Fatal(err)
	}
	q.URL.RawPath = f[2] // as it is written
	resp, err := c.Do(q)
	if err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// expect asks until the sidecar follows, and then all else once.
func (r *ruled) expect(what string, first string, want int, more map[string]int) {
	r.t.Helper()
	r.synced("server")
	if got := r.ask(first); got != want {
		r.t.Errorf("%s: %s: %d, want %d", what, first, got, want)
	}
	for text, want := range more {
		if got := r.ask(text); got != want {
			r.t.Errorf("%s: %s: %d, want %d", what, text, got, want)
		}
	}
}

// listeners are those of the server, as they are sent.
func (r *ruled) listeners() []byte {
	at, ok := r.model.Dataplane(dataplaneRef("server"))
	if !ok {
		r.t.Fatal("there is no server")
	}
	var out []byte
	for _, l := range r.by.Renderer.Render(at).Listeners {
		out = append(append(out, l.Name...), l.Content().GetValue()...)
	}
	return out
}

const (
	everybodyIn = `{type: MeshTrafficPermission, mesh: default, name: all, spec: {rules: [{default: {allow: [{spiffeID: {type: Prefix, value: "spiffe://default"}}]}}]}}`
	ruledRoute  = `{type: MeshHTTPRoute, mesh: default, name: r, spec: {to: [{targetRef: {kind: MeshService, name: web}, rules: [
  {name: admin, matches: [{path: {type: PathPrefix, value: /admin}}], default: {}},
  {name: exact, matches: [{path: {type: Exact, value: /one}, method: POST}], default: {}},
  {name: api, matches: [{path: {type: PathPrefix, value: /api}}], default: {filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /v2}}}]}}]}]}}`
)

func opsAlone(name, kind, route, section string) string {
	if section != "" {
		section = ", sectionName: " + section
	}
	return fmt.Sprintf(`{type: MeshTrafficPermission, mesh: default, name: %s, spec: {targetRef: {kind: %s, name: %s%s}, rules: [{default: {allow: [{spiffeID: {type: Exact, value: "spiffe://default/ops"}}]}}]}}`, name, kind, route, section)
}

// TestPermissionsOnRulesOfRoutes: who may send what a rule of a route takes is asked where it
// arrives, however it is written and by whatever way it comes, and a change of it touches no
// listener (spec/identity.md 4.5; 8, 24 to 26; F12).
func TestPermissionsOnRulesOfRoutes(t *testing.T) {
	t.Parallel()
	r := startRuled(t, everybodyIn, ruledRoute, opsAlone("p", "MeshHTTPRoute", "r", "admin"))
	r.expect("24", "ops GET /admin", 200, map[string]int{
		"web GET /admin": 403, "web GET /x": 200, "web GET /admin/x": 403, "web GET /administrators": 200,
		"web GET //admin": 403, "web GET /admin%2f": 400, "web GET /x/../admin": 403, "web GET /./admin": 403, "web GET /%61dmin": 403,
		"web GET /x%2f..%2fadmin": 400, `web GET /admin%5cx`: 400, "web GET /Admin": 200, "web GET /admin;x=1": 200, "web GET /%2e%2e/admin": 403,
		"ops GET //admin": 200, "web GET /one": 200,
	})
	before := r.listeners()
	r.put(r.objects(opsAlone("p", "MeshHTTPRoute", "r", "api"))...)
	r.expect("26", "ops GET /v2", 200, map[string]int{"web GET /v2": 403, "web GET /v2/x": 403, "web GET /v20": 200, "web GET /api": 200, "web GET /admin": 200})
	if !bytes.Equal(before, r.listeners()) {
		t.Error("another rule changes a listener")
	}
	r.put(r.objects(opsAlone("p", "MeshHTTPRoute", "r", "exact"), `{type: MeshRateLimit, mesh: default, name: l, spec: {rules: [{default: {local: {http: {requestRate: {num: 3, interval: 1h}}}}}]}}`)...)
	// One bucket for all rules (spec/xds.md 14).
	r.expect("exact", "ops POST /one", 200, nil)
	for _, s := range []struct {
		text string
		want int
	}{{"web POST /one", 403}, {"web GET /one", 200}, {"ops GET /admin", 200}, {"ops POST /one", 429}, {"web GET /x", 429}} {
		if got := r.ask(s.text); got != s.want {
			t.Errorf("limited: %s: %d, want %d", s.text, got, s.want)
		}
	}
}

// TestRulesThatCannotBeToldAreClosed: what a rule may take of which the server cannot tell lets nobody
// in (spec/identity.md 4.5).
func TestRulesThatCannotBeToldAreClosed(t *testing.T) {
	t.Parallel()
	r := startRuled(t, everybodyIn, ruledRoute, opsAlone("p", "MeshHTTPRoute", "r", "admin"))
	r.put(r.objects(strings.Replace(ruledRoute, `name: r, spec: {to`, `name: r, spec: {targetRef: {kind: Dataplane, labels: {a: b}}, to`, 1))...)
	r.expect("some clients alone have it", "ops GET /admin", 403, map[string]int{"web GET /admin/x": 403, "web GET /x": 200})
}

// failing is who may call as a bug keeps it from being written, of all requests or of those of
// rules alone.
type failing struct {
	*trafficpermission.Effective
	rules bool
}

func (f failing) WriteInbound(filters *map[string]*anypb.Any, at envoy.Place) {
	if rule := len(f.Permissions.Replaced) > 0; rule == f.rules {
		panic("a bug")
	}
	f.Effective.WriteInbound(filters, at)
}

// collectsFailing is an authorizer whose confs cannot be written.
type collectsFailing struct {
	policies.Authorizer
	rules bool
}

func (a collectsFailing) Collect(of policies.Callers, said []policies.Collected) *policies.Effective {
	e := a.Authorizer.Collect(of, said)
	e.Conf = failing{e.Conf.(*trafficpermission.Effective), a.rules}
	return e
}

// TestABugOpensNothing: where a bug keeps from being written who may call, nobody gets in, and what
// was not touched by it goes on (spec/identity.md 7, I13).
func TestABugOpensNothing(t *testing.T) {
	t.Parallel()
	for _, rules := range []bool{false, true} {
		kinds := slices.Clone(world.Kinds())
		i := slices.Index(kinds, trafficpermission.Kind)
		broken := *trafficpermission.Kind
		broken.Authorizer = collectsFailing{trafficpermission.Kind.Authorizer, rules}
		kinds[i] = &broken
		r := startRuledBy(t, kinds, everybodyIn, ruledRoute, opsAlone("p", "MeshHTTPRoute", "r", "admin"))
		want := map[string]int{"ops GET /admin": 200, "web GET /admin": 403, "web GET /x": 403}
		if rules {
			want = map[string]int{"ops GET /admin": 403, "web GET /admin": 403, "web GET /x": 200}
		}
		for text, status := range want {
			if got := r.ask(text); got != status {
				t.Errorf("rules %v: %s: %d, want %d", rules, text, got, status)
			}
		}
	}
}
