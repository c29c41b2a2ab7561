package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/sidecar/attach"
)

// marked is a request that says in every word of which namespace the dataplane is that saw it.
func marked(dp api.Ref) attach.SeenRequest {
	word := "canary-of-" + dp.Namespace
	return attach.SeenRequest{Number: 1, ID: "x", Began: time.Now().Add(-time.Minute), TookMicros: 1500, Method: "GET", Authority: word, Path: "/" + word, UserAgent: word, Status: 504, Flags: "UT", Details: "response_timeout",
		Caller: "spiffe://" + word, Host: "10.0.0.1:80", Table: "s-1", StandsFor: 1, Headers: map[string]string{"x-canary": word}, By: fmt.Sprintf(`[{"kind":"MeshTimeout","mesh":"default","namespace":%q,"name":%q,"field":"spec.to[0]"}]`, dp.Namespace, word)}
}

// TestRequestsOfOthersAreInNoAnswer: whoever may everything in one namespace finds in no answer of the API a word of
// a request that only sidecars of another namespace saw, whatever is asked for, and their agents are not even asked.
// An administrator finds them.
func TestRequestsOfOthersAreInNoAnswer(t *testing.T) {
	t.Parallel()
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	agents := newSeeing()
	agents.sees = marked
	c := &cluster{said: map[rights.AccessRequest]bool{}, may: func(a rights.AccessRequest) bool { return a.Namespace == "a" || a.Resource == "meshes" }}
	objects := ""
	for i, namespace := range []string{"a", "b"} {
		objects += fmt.Sprintf("---\n{apiVersion: kuma.io/v1alpha1, kind: Dataplane, mesh: default, metadata: {name: %[1]s-1, namespace: %[1]s}, spec: {networking: {address: 127.0.0.%[2]d, inbound: [{port: 80, tags: {kuma.io/service: %[1]s}}], outbound: [{port: 10001, tags: {kuma.io/service: s-1}}]}}}\n", namespace, i+1)
	}
	server, _ := serveWith(t, objects+"---\n{type: Mesh, name: default, telemetry: {paths: full}}\n", false, func(o *web.Config) {
		o.Admin, o.Users, o.Envoys, o.Traffic = "the admin's token", c, agents, noCounts{}
	})
	found := map[string]int{}
	ask := func(token, method, path, body string) {
		t.Helper()
		_, text := send(t, method, server.URL+path, body, "Authorization", "Bearer "+token)
		found[token] += strings.Count(text, "canary-of-b")
		if token == "ann" && strings.Contains(text, "canary-of-b") {
			t.Errorf("%s %s %s: %s", method, path, body, text)
		}
		if token == "ann" {
			found["her own"] += strings.Count(text, "canary-of-a")
		}
	}
	asked := 0
	for _, token := range []string{"ann", "the admin's token"} {
		for path, methods := range doc.Paths {
			if _, ok := methods["get"]; !ok || path == "/_events" {
				continue
			}
			for _, name := range []string{"a-1.a", "b-1.b"} {
				asked++
				ask(token, http.MethodGet, strings.NewReplacer("{mesh}", "default", "{name}", name, "{id}", "x", "{kind}", "Dataplane", "{plural}", "dataplanes", "{dataplane}", name).Replace(path), "")
			}
		}
		for _, query := range []string{"?of=b", "?status=504&limit=256", "?to=s-1", "?last=24h"} {
			ask(token, http.MethodGet, "/meshes/default/_requests"+query, "")
		}
		for _, who := range []string{`"dataplanes":["b-1.b"]`, `"dataplanes":["a-1.a","b-1.b"]`, `"service":"b"`, `"service":"s-1"`, `"service":"a"`} {
			ask(token, http.MethodPost, "/meshes/default/_taps", `{`+who+`,"headers":["x-canary"],"for":"20ms"}`)
		}
		if n := len(agents.asked["b-1.b"]); token == "ann" && n > 0 {
			t.Errorf("the agent of the other namespace was asked %d times", n)
		}
	}
	if asked < 40 || found["her own"] == 0 || found["the admin's token"] == 0 {
		t.Errorf("%d questions; found %v: nothing was looked at", asked, found)
	}
}
