package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/web"
)

// TestReadersPlan: a user who may only ask plans what others would write, delete or take back,
// and simulates; nothing is stored, and no key is shown.
func TestReadersPlan(t *testing.T) {
	t.Parallel()
	server, _ := serveWith(t, bank, false, func(c *web.Config) { c.Admin, c.Tokens = "admin", alice{} })
	const retry = "type: MeshRetry\nmesh: default\nname: r\nspec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}\n"
	as := func(method, path, body string) (int, string) {
		return send(t, method, server.URL+path, body, "Authorization", "Bearer alice")
	}
	for _, c := range []struct{ method, path, body, want string }{
		{http.MethodPost, "/_apply?dryRun=true", retry, `"object":"MeshRetry/default/r","action":"create"`},
		{http.MethodPost, "/_apply?dryRun=true", strings.Replace(strings.Split(bank, "---")[0], "inlineString: canary", "inlineString: another", 1), `"action":"update"`},
		{http.MethodPost, "/_apply?dryRun=1&prune=kuma.io/origin=zone", retry, `"action":"delete"`},
		{http.MethodDelete, "/meshes/default/meshexternalservices/bank?dryRun=true", "", `"action":"delete"`},
		{http.MethodPost, "/_rollback?to=0&dryRun=true", "", ""},
		{http.MethodPost, "/meshes/default/dataplanes/frontend-1/_simulate", `{"url":"http://bank:443"}`, `"branches"`},
	} {
		code, text := as(c.method, c.path, c.body)
		if code == http.StatusForbidden || !strings.Contains(text, c.want) || strings.Contains(text, "canary") {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, text)
		}
	}
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, "/_apply", retry},
		{http.MethodPost, "/_apply?dryRun=false", retry},
		{http.MethodPost, "/_apply?dryRun=true&dryRun=false", retry},
		{http.MethodPost, "/_apply?dryRun=false&dryRun=true", retry},
		{http.MethodPost, "/_apply?dryrun=true", retry},
		{http.MethodPut, "/meshes/default/meshretries/r?dryRun=true", retry},
		{http.MethodPut, "/meshes/default/meshretries/_simulate", strings.Replace(retry, "name: r", "name: _simulate", 1)},
		{http.MethodDelete, "/meshes/default/meshexternalservices/bank", ""},
		{http.MethodDelete, "/meshes/default/meshexternalservices/bank/_simulate", ""},
		{http.MethodPost, "/_rollback?to=0", ""},
		{http.MethodPost, "/tokens/user?dryRun=true", `{"name":"a","validFor":"1h"}`},
	} {
		if code, text := as(c.method, c.path, c.body); code != http.StatusForbidden && code != http.StatusBadRequest {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, text)
		}
	}
	if code, text := ask(t, server.URL+"/meshes/default/meshretries", "alice"); code != http.StatusOK || !strings.Contains(text, `"total":0`) {
		t.Errorf("something was stored: %d %s", code, text)
	}
	if code, text := as(http.MethodPost, "/_apply?dryRun=true", strings.Repeat("# much\n", 1<<20/4)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too large: %d %s", code, text)
	}
}
