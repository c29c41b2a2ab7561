package web_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store/memory"
)

// buggy is a store whose kinds of policies have a bug that thirteen retries meet.
type buggy struct{ *memory.Store }

func (d buggy) Model(context.Context) (*resolve.Model, error) {
	kinds := slices.Clone(world.Kinds())
	i := slices.IndexFunc(kinds, func(k *policies.Kind) bool { return k.Name == "MeshRetry" })
	bad := *kinds[i]
	bad.Requires = func(c policies.Conf, _ string) string {
		if h := c.(*retry.Conf).HTTP; h != nil && h.NumRetries != nil && *h.NumRetries == 13 {
			panic("planted")
		}
		return ""
	}
	kinds[i] = &bad
	m, _ := resolve.Compile(d.Snapshot(), world.Dialects(), kinds)
	return m, nil
}

const unlucky = `
{type: Dataplane, mesh: default, name: a, networking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: a, kuma.io/protocol: http}}], outbound: [{port: 10001, tags: {kuma.io/service: b}}]}}
---
{type: Dataplane, mesh: default, name: b, networking: {address: 127.0.0.3, inbound: [{port: 80, tags: {kuma.io/service: b, kuma.io/protocol: http}}], outbound: [{port: 10001, tags: {kuma.io/service: a}}]}}
---
{type: MeshTimeout, mesh: default, name: other, spec: {to: [{targetRef: {kind: MeshService, name: a}, default: {http: {requestTimeout: 3s}}}]}}
`

// A bug that what holds on one dataplane meets is a note on that dataplane: who
// writes is told that it is stored, with a warning, all questions are answered,
// and about others as always. The next good document heals it.
func TestABugIsANoteOnItsDataplane(t *testing.T) {
	t.Parallel()
	s, _ := serveWith(t, unlucky, false, func(c *web.Config) { c.Documents = buggy{c.Documents.(compiled).Store} })
	const mesh, bug = "/meshes/default", "a bug in weft"
	put := func(retries string) (int, string) {
		return call(t, http.MethodPut, s.URL+mesh+"/meshretries/r", `{"type":"MeshRetry","mesh":"default","name":"r","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"b"},"default":{"http":{"numRetries":`+retries+`}}}]}}`)
	}
	told := map[string]bool{ // whether the bug is told of there
		"/meshretries/r/_explain": true, "/dataplanes/a/_explain": true, "/_status": true, "/dataplanes/a/_rules": false, "/meshretries/r": false,
		"/meshtimeouts/other": false, "/meshtimeouts/other/_explain": false, "/dataplanes/b/_explain": false, "/dataplanes/b/_rules": false, "/meshretries?size=10": false,
	}
	for _, round := range []struct {
		retries string
		status  int
		broken  bool
	}{{"13", http.StatusCreated, true}, {"3", http.StatusOK, false}, {"13", http.StatusOK, true}, {"4", http.StatusOK, false}} {
		status, body := put(round.retries)
		if status != round.status || strings.Contains(body, bug) != round.broken || strings.Contains(body, "warnings") != round.broken {
			t.Errorf("PUT of %s retries: %d %s", round.retries, status, body)
		}
		for path, tells := range told {
			status, body := call(t, http.MethodGet, s.URL+mesh+path, "")
			if status != http.StatusOK || strings.Contains(body, bug) != (tells && round.broken) {
				t.Errorf("with %s retries GET %s: %d %s", round.retries, path, status, body)
			}
		}
		status, body = call(t, http.MethodGet, s.URL+"/_problems", "")
		at := (api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "a"}).String()
		if status != http.StatusOK || strings.Contains(body, at) != round.broken {
			t.Errorf("with %s retries the problems are %d %s", round.retries, status, body)
		}
	}
}

// A plan of what meets a bug says so, takes nothing away, and tells of all others.
func TestAPlanThatMeetsABug(t *testing.T) {
	t.Parallel()
	const three = "{type: MeshRetry, mesh: default, name: r, spec: {to: [{targetRef: {kind: MeshService, name: b}, default: {http: {numRetries: 3}}}]}}\n"
	s, _ := serveWith(t, unlucky+"---\n"+three, false, func(c *web.Config) { c.Documents = buggy{c.Documents.(compiled).Store} })
	code, text := call(t, http.MethodPost, s.URL+"/_apply?dryRun=true", strings.Replace(three, "numRetries: 3", "numRetries: 13", 1)+
		"---\n{type: MeshTimeout, mesh: default, name: other, spec: {to: [{targetRef: {kind: MeshService, name: a}, default: {http: {requestTimeout: 4s}}}]}}\n")
	if code != http.StatusOK || strings.Contains(text, `"after":null`) || strings.Contains(text, `"action":"delete"`) {
		t.Errorf("%d %s", code, text)
	}
	for _, part := range []string{`"affected":2,"dataplanes":["a","b"]`, `"before":"3s","after":"4s"`, `"notes":[{"origin":{"kind":"Dataplane","mesh":"default","name":"a"}`, "a bug in weft"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}
