package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/traffic"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/requests"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/sidecar/attach"
)

// seeing are agents of which each keeps one request that failed, with the id x, and sees one after the other
// while somebody watches.
type seeing struct {
	sees  func(api.Ref) attach.SeenRequest
	mu    sync.Mutex
	asked map[string][]attach.RequestsQuestion
}

func (s *seeing) Ask(_ context.Context, dp api.Ref, path string, w io.Writer) error {
	q, ok := attach.ParseRequestsQuestion(path)
	if !ok {
		return attach.ErrNoStream
	}
	s.mu.Lock()
	s.asked[dp.FullName()] = append(s.asked[dp.FullName()], q)
	s.mu.Unlock()
	r := s.sees(dp)
	if !q.Paths {
		r.Path = ""
	}
	answer := attach.SeenRequests{Requests: []attach.SeenRequest{r}, Next: 1, Kept: noon}
	if !q.Wants(&r) {
		answer.Requests = nil
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func (s *seeing) Sent(context.Context, api.Ref) ([]byte, bool, error) { return nil, false, nil }
func (s *seeing) Resolving(string) int                                { return 0 }

func newSeeing() *seeing {
	return &seeing{sees: timedOut, asked: map[string][]attach.RequestsQuestion{}}
}

// timedOut is the request that every one of them sees.
func timedOut(api.Ref) attach.SeenRequest {
	return attach.SeenRequest{Number: 1, ID: "x", Began: time.Now().Add(-time.Minute), TookMicros: 1500, Method: "GET", Authority: "s-1", Path: "/v1/mail@canary", Status: 504, Flags: "UT", Details: "response_timeout",
		Table: "s-1", Slot: 0, StandsFor: 1, By: `[{"kind":"MeshHTTPRoute","mesh":"default","name":"r-1","field":"spec.to[0].rules[0]"},{"kind":"MeshTimeout","mesh":"default","name":"t-1","field":"spec.to[0]"}]`}
}

// noCounts are sums of nobody.
type noCounts struct{}

func (noCounts) Traffic(context.Context, traffic.TrafficQuery) (traffic.PartialSums, []string) {
	return traffic.PartialSums{}, nil
}

func seen(t *testing.T, docs string, of *seeing) string {
	t.Helper()
	server, _ := serveWith(t, docs, false, func(c *web.Config) { c.Envoys, c.Traffic = of, noCounts{} })
	return server.URL
}

// TestFailedRequests: what a sidecar keeps is told with its rule, its policies and what explains it, and its
// path only where the mesh has paths told.
func TestFailedRequests(t *testing.T) {
	t.Parallel()
	for paths, told := range map[string]bool{"": false, "match": false, "full": true, "none": false} {
		agents := newSeeing()
		url := seen(t, town(3)+fmt.Sprintf("---\n{type: Mesh, name: default, telemetry: {paths: %q}}\n", paths), agents)
		code, text := call(t, http.MethodGet, url+"/meshes/default/dataplanes/d-0/_requests?to=s-1&status=504&last=10m", "")
		var a requests.RequestsAnswer
		if err := json.Unmarshal([]byte(text), &a); err != nil || code != http.StatusOK || len(a.Items) != 1 {
			t.Fatalf("%d %s", code, text)
		}
		r := a.Items[0]
		if r.Words != "request timeout" || r.To != "s-1" || r.Rule == nil || r.Rule.String() != "MeshHTTPRoute/r-1 spec.to[0].rules[0]" || len(r.Policies) != 1 || r.Side != "caller" || r.EndedBy != "sidecar" {
			t.Errorf("%s", text)
		}
		if strings.Contains(text, "canary") != told || agents.asked["d-0"][0].Paths != told {
			t.Errorf("paths %q: %s", paths, text)
		}
	}
}

// TestFailedRequestsOfAMesh: all sidecars of a mesh, or of a service, are asked; one request is found by its
// id, with what the simulator says of it.
func TestFailedRequestsOfAMesh(t *testing.T) {
	t.Parallel()
	agents := newSeeing()
	url := seen(t, town(4)+"---\n{type: Mesh, name: default, telemetry: {paths: full}}\n", agents)
	get := func(path string, into any) {
		t.Helper()
		code, text := call(t, http.MethodGet, url+"/meshes/default/"+path, "")
		if err := json.Unmarshal([]byte(text), into); err != nil || code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, code, text)
		}
	}
	var all, one requests.RequestsAnswer
	get("_requests?limit=3", &all)
	get("_requests?of=s-2", &one)
	if len(all.Items) != 3 || len(one.Items) != 1 || one.Items[0].Dataplane != "d-2" {
		t.Errorf("%d of all, %+v of one", len(all.Items), one.Items)
	}
	var why requests.Why
	get("_requests/x", &why)
	if s := why.Simulated; len(why.Requests) != 4 || s == nil || s.URL != "http://s-1/v1/mail@canary" || !s.SameRule || s.Outcome != "forward" {
		t.Errorf("%+v %+v", why, why.Simulated)
	}
	if code, text := call(t, http.MethodGet, url+"/meshes/default/_requests/y", ""); code != http.StatusNotFound || !strings.Contains(text, "no sidecar keeps") {
		t.Errorf("%d %s", code, text)
	}
}

// TestBadQuestionsForRequests: each mistake is told, all at once.
func TestBadQuestionsForRequests(t *testing.T) {
	t.Parallel()
	url := seen(t, town(2), newSeeing())
	for _, c := range []struct {
		request string
		want    []string
	}{
		{"GET dataplanes/d-0/_requests?status=6xx&last=soon", []string{"6xx", "soon"}},
		{"GET dataplanes/d-0/_requests?limit=0", []string{"limit"}},
		{"GET dataplanes/d-0/_requests?to=nobody", []string{"calls no nobody"}},
		{`POST _taps {"status":"9","for":"1h"}`, []string{"dataplanes", "status", "10m0s"}},
		{`POST _taps {"dataplanes":["d-0","gone"]}`, []string{"dataplanes[1]"}},
		{`POST _taps {"service":"nobody"}`, []string{`"service"`, "no dataplane"}},
		{`POST _taps {"dataplanes":["d-0"],"headers":["x-canary",":path","a b"]}`, []string{"headers[1]", "headers[2]", "leave it out", "no name of a header"}},
		{`POST _taps {"dataplanes":["d-0"],"headers":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"]}`, []string{`"headers"`, "16 headers at most"}},
		{`POST _taps {"dataplanes":["d-0"],"to":"nobody"}`, []string{`"to"`, "no dataplane"}},
	} {
		method, rest, _ := strings.Cut(c.request, " ")
		path, body, _ := strings.Cut(rest, " ")
		code, text := call(t, method, url+"/meshes/default/"+path, body)
		if code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", c.request, code, text)
		}
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: nothing says %q: %s", c.request, w, text)
			}
		}
	}
}

// TestTap: live requests come as events, and the sidecars are told when nobody watches any more.
func TestTap(t *testing.T) {
	t.Parallel()
	agents := newSeeing()
	url := seen(t, town(3), agents)
	code, text := call(t, http.MethodPost, url+"/meshes/default/_taps", `{"service":"s-0","headers":["X-Canary","accept","x-canary"],"for":"100ms"}`)
	if code != http.StatusOK || !strings.HasPrefix(text, "event: begin\n") || !strings.HasSuffix(text, "event: end\ndata: {}\n\n") || !strings.Contains(text, "/v1/mail@canary") {
		t.Errorf("%d %s", code, text)
	}
	agents.mu.Lock()
	defer agents.mu.Unlock()
	asked := agents.asked["d-0"]
	if last := asked[len(asked)-1]; len(agents.asked) != 1 || !last.End || last.Tap == "" || asked[0].Tap != last.Tap || strings.Join(last.Headers, " ") != "accept x-canary" {
		t.Errorf("%+v", agents.asked)
	}
	if _, text := call(t, http.MethodGet, url+"/_events?recent=10&follow=false&type=tap", ""); strings.Count(text, `"type":"tap"`) != 1 || !strings.Contains(text, "d-0") || !strings.Contains(text, "for 100ms, headers X-Canary, accept, x-canary") {
		t.Errorf("among what happens: %s", text)
	}
}

// apart is a mesh of two namespaces.
const apart = `
{type: Dataplane, mesh: default, name: a-1, labels: {k8s.kuma.io/namespace: a}, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: a}}], outbound: [{port: 10001, tags: {kuma.io/service: s-1}}]}}
---
{type: Dataplane, mesh: default, name: b-1, labels: {k8s.kuma.io/namespace: b}, networking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: b}}], outbound: [{port: 10001, tags: {kuma.io/service: s-1}}]}}
`

// TestRightsToRequests: who may see requests of one namespace sees none of another, and who may see those
// that failed may not watch.
func TestRightsToRequests(t *testing.T) {
	t.Parallel()
	objects := strings.ReplaceAll(apart, "type: Dataplane, mesh: default, name: a-1, labels: {k8s.kuma.io/namespace: a}", "apiVersion: kuma.io/v1alpha1, kind: Dataplane, mesh: default, metadata: {name: a-1, namespace: a}")
	objects = strings.ReplaceAll(objects, "type: Dataplane, mesh: default, name: b-1, labels: {k8s.kuma.io/namespace: b}", "apiVersion: kuma.io/v1alpha1, kind: Dataplane, mesh: default, metadata: {name: b-1, namespace: b}")
	objects = strings.ReplaceAll(objects, "networking:", "spec: {networking:")
	objects = strings.ReplaceAll(objects, "}]}}\n", "}]}}}\n")
	agents := newSeeing()
	c := &cluster{said: map[rights.AccessRequest]bool{}, may: func(a rights.AccessRequest) bool {
		return a.Resource == "dataplanes" && a.Subresource == "requests" && (a.Verb == "get" && a.Namespace == "a" || a.Verb == "tap" && a.Namespace == "b")
	}}
	server, _ := serveWith(t, objects, false, func(o *web.Config) {
		o.Admin, o.Users, o.Envoys, o.Traffic = "the admin's token", c, agents, noCounts{}
	})
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		return send(t, method, server.URL+"/meshes/default/"+path, body, "Authorization", "Bearer ann")
	}
	code, text := ask(http.MethodGet, "_requests", "")
	if code != http.StatusOK || !strings.Contains(text, "a-1.a") || strings.Contains(text, "b-1") || len(agents.asked["b-1.b"]) > 0 {
		t.Errorf("%d %s %v", code, text, agents.asked)
	}
	for _, c := range []struct {
		method, path, body string
		code               int
	}{
		{http.MethodGet, "dataplanes/a-1.a/_requests", "", http.StatusOK},
		{http.MethodGet, "dataplanes/b-1.b/_requests", "", http.StatusForbidden},
		{http.MethodPost, "_taps", `{"dataplanes":["a-1.a"],"for":"10ms"}`, http.StatusForbidden},
		{http.MethodPost, "_taps", `{"dataplanes":["b-1.b"],"for":"10ms"}`, http.StatusOK},
		{http.MethodPost, "_taps", `{"dataplanes":["b-1.b","a-1.a"],"for":"10ms"}`, http.StatusForbidden},
		{http.MethodPost, "_taps", `{"service":"a","for":"10ms"}`, http.StatusForbidden},
	} {
		if code, text := ask(c.method, c.path, c.body); code != c.code {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, code, text)
		}
	}
}

// TestTapEndsWithTheRight: who loses the right to watch is told so, and sees nothing more.
func TestTapEndsWithTheRight(t *testing.T) {
	t.Parallel()
	objects := "apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmesh: default\nmetadata: {name: a-1, namespace: a}\nspec: {networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: a}}]}}\n"
	var lost atomic.Bool
	c := &cluster{said: map[rights.AccessRequest]bool{}, may: func(a rights.AccessRequest) bool { return !lost.Load() }}
	server, _ := serveWith(t, objects, false, func(o *web.Config) {
		o.Admin, o.Users, o.Envoys, o.Traffic = "the admin's token", c, newSeeing(), noCounts{}
	})
	time.AfterFunc(100*time.Millisecond, func() { lost.Store(true) })
	began := time.Now()
	code, text := send(t, http.MethodPost, server.URL+"/meshes/default/_taps", `{"dataplanes":["a-1.a"],"for":"5m"}`, "Authorization", "Bearer ann")
	if code != http.StatusOK || !strings.Contains(text, "event: end\ndata: {\"reason\":") || !strings.Contains(text, "tap") || time.Since(began) > time.Minute {
		t.Errorf("%d %s", code, text)
	}
}
