package skipper_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// filling is a group whose filters put values of requests together.
const filling = `---
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: filled}
spec:
  hosts: [f.example.org]
  backends:
  - {name: s, serviceName: service-a, servicePort: 80}
  - {name: no, type: shunt}
  defaultBackends: [{backendName: s}]
  routes:
  - path: /values
    filters:
    - setRequestHeader("X-Where", "${request.method} ${request.host}${request.path} 100%")
    - setRequestHeader("X-Both", "${request.header.X-A}-${request.header.X-B}")
    - appendRequestHeader("X-A", "and ${request.header.X-B}")
    - copyRequestHeader("X-B", "X-Copy")
    - setResponseHeader("X-Was", "${request.method} ${request.path}")
    - setResponseHeader("X-Got", "${request.header.X-Copy}")
    - copyResponseHeader("Content-Length", "X-Length")
    - setResponseHeader("X-Order", "first")
    - setResponseHeader("X-Order", "last")
  - path: /moved
    filters: ['setRequestHeader("X-Path", "${request.path}")', 'setPath("/new")', 'setResponseHeader("X-Path", "${request.path}")']
  - path: /host
    filters: ['setRequestHeader("Host", "${request.header.X-Host}")']
  - path: /users/:id/files/*rest
    filters: ['setPath("/v2/${rest}/of/${id}.1")']
  - pathSubtree: /shops/:shop
    filters: ['setPath("/shop-${shop}")']
  - pathSubtree: /api
    filters: ['corsOrigin("https://a.example", "https://b.example")', 'responseCookie("c", "1", 60, "change-only")']
  - pathSubtree: /one
    filters: ['corsOrigin("https://a.example")']
  - path: /said
    backends: [{backendName: no}]
    filters: ['status(200)', 'setResponseHeader("X-Said", "${request.host} ${request.path} ${request.header.X-A}")']
  - path: /tee
    filters: ['setRequestHeader("X-T", "1")', 'setPath("/copied")', 'tee("http://copies.example:8080")']
`

// TestFilledInEnvoy: a real Envoy fills in what the simulator says, for every route and
// whatever is missing in the request.
func TestFilledInEnvoy(t *testing.T) {
	t.Parallel()
	m := mesh(t, filling)
	o := envoytest.NewOracle(t, world.Kinds(), envoytest.Tables(tableOf(t, m, "f.example.org")))
	for _, path := range []string{"/values?q=1", "/moved?q", "/host", "/users/7/files/a/b%20c?q=1", "/users/7/files/a", "/shops/one", "/shops/one/", "/shops/one/x", "/api/x", "/one", "/said?q"} {
		for _, sent := range []wire.Headers{{}, {"x-a": "1"}, {"x-b": "2"}, {"x-a": "1", "x-b": "2", "x-host": "other.example"}, {"origin": "https://a.example"}, {"origin": "https://b.example", "cookie": "c=1"}, {"origin": "https://axexample"}} {
			v, err := sim.Run(m, client, wire.Request{Method: "PUT", URL: "http://f.example.org" + path, Headers: maps.Clone(sent)})
			if err != nil {
				t.Fatal(err)
			}
			headers := http.Header{}
			for name := range sent {
				headers.Set(name, sent[name])
			}
			a, err := o.Ask(0, envoytest.Question{Method: "PUT", Host: "f.example.org", Path: path, Headers: headers})
			if err != nil {
				t.Fatal(err)
			}
			checkFilled(t, path, sent, &v.Branches[0], a)
		}
	}
}

// checkFilled compares what is sent and answered with what the simulator says.
func checkFilled(t *testing.T, path string, sent wire.Headers, b *sim.Branch, a *envoytest.Answer) {
	t.Helper()
	if a.Route != b.Route.Name {
		t.Errorf("%s %v: Envoy takes %q, sim %q", path, sent, a.Route, b.Route.Name)
		return
	}
	if f := b.Forwarded; f != nil {
		if len(a.Attempts) != 1 || a.Attempts[0].Path != f.Path || a.Attempts[0].Authority != f.Authority {
			t.Errorf("%s %v: Envoy sends %+v, sim %+v", path, sent, a.Attempts, f)
			return
		}
		for _, name := range []string{"x-where", "x-both", "x-a", "x-copy", "x-path", "x-t"} {
			if got, want := a.Attempts[0].Headers.Values(name), f.Headers.Values(name); !slices.Equal(got, want) {
				t.Errorf("%s %v: Envoy sends %s %q, sim %q", path, sent, name, got, want)
			}
		}
	}
	if b.ResponseHeaders == nil {
		b.ResponseHeaders = &wire.ResponseHeaders{}
	}
	for _, name := range []string{"x-was", "x-got", "x-order", "x-path", "x-said", "access-control-allow-origin", "set-cookie", "x-length"} {
		got, want := a.Headers.Values(name), slices.Concat(b.ResponseHeaders.Set.Values(name), b.ResponseHeaders.Add.Values(name))
		if name == "x-length" && len(want) == 1 { // what the backend says
			want = []string{a.Headers.Get("content-length")}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s %v: Envoy answers with %s %q, sim %q", path, sent, name, got, want)
		}
	}
}

// TestCopiesInEnvoy: a copy is the request as it goes on, but for the host of its address.
func TestCopiesInEnvoy(t *testing.T) {
	t.Parallel()
	o := envoytest.NewOracle(t, world.Kinds(), envoytest.Tables(tableOf(t, mesh(t, filling), "f.example.org")))
	a, err := o.Ask(0, envoytest.Question{Method: "GET", Host: "f.example.org", Path: "/tee?q"})
	if err != nil {
		t.Fatal(err)
	}
	o.Settle(func() bool { return len(o.Copies(a.ID)) > 0 })
	copies := o.Copies(a.ID)
	if len(copies) != 1 || copies[0].Authority != "copies.example:8080" || copies[0].Path != "/copied?q" || copies[0].Headers.Get("X-T") != "1" || a.Attempts[0].Authority != "f.example.org" {
		t.Errorf("copies %+v of %+v", copies, a.Attempts)
	}
}

// TestLatencyInEnvoy: requests wait as long as the simulator says, also those that the
// proxy answers; bounds of time count from when they go on.
func TestLatencyInEnvoy(t *testing.T) {
	t.Parallel()
	const group = `---
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: slow}
spec:
  hosts: [l.example.org]
  backends: [{name: s, serviceName: service-a, servicePort: 80}, {name: no, type: shunt}]
  defaultBackends: [{backendName: s}]
  routes:
  - {path: /waits, filters: ['latency("300ms")', 'latency(200)', 'backendTimeout("400ms")']}
  - {path: /answers, backends: [{backendName: no}], filters: ['latency("300ms")', 'status(410)']}
  - {path: /at-once}
`
	m := mesh(t, group)
	o := envoytest.NewOracle(t, world.Kinds(), envoytest.Tables(tableOf(t, m, "l.example.org")))
	for _, c := range []struct {
		path, answer string
		status       int
		least, most  time.Duration
	}{
		{"/waits", "200", 200, 500 * time.Millisecond, 0}, {"/waits", "slow:2s", 504, 900 * time.Millisecond, 1900 * time.Millisecond},
		{"/answers", "", 410, 300 * time.Millisecond, 0}, {"/at-once", "200", 200, 0, 0},
	} {
		begin := time.Now()
		a, err := o.Ask(0, envoytest.Question{Method: "GET", Host: "l.example.org", Path: c.path, Script: c.answer})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); a.Status != c.status || took < c.least-10*time.Millisecond || c.most > 0 && took > c.most {
			t.Errorf("%s %s: %d after %s", c.path, c.answer, a.Status, took)
		}
		v, err := sim.Run(m, client, wire.Request{Method: "GET", URL: "http://l.example.org" + c.path, Answers: strings.ReplaceAll(c.answer, "slow:", "200@")})
		if err != nil {
			t.Fatal(err)
		}
		if b := &v.Branches[0]; strings.HasPrefix(c.path, "/waits") && (len(b.Ends) != 1 || time.Duration(b.Ends[0].Earliest) != c.least || int(b.Ends[0].Status) != c.status) {
			t.Errorf("%s %s: sim says %+v", c.path, c.answer, b.Ends)
		}
	}
}
