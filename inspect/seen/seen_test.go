package seen_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/seen"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
)

const mesh = `
{type: Mesh, name: default, mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin, mode: STRICT}]}}
---
{type: Dataplane, mesh: default, name: caller, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: front}}], outbound: [{port: 10001, tags: {kuma.io/service: web}}]}}
---
{type: Dataplane, mesh: default, name: called, networking: {address: 127.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}
---
{type: MeshHTTPRoute, mesh: default, name: r, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, rules: [
  {matches: [{path: {type: PathPrefix, value: /a}}, {path: {type: Exact, value: /b}}], default: {}},
  {matches: [{path: {type: PathPrefix, value: /ops}}], default: {}}]}]}}
---
{type: MeshTimeout, mesh: default, name: all, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 3s}}}]}}
---
{type: MeshTimeout, mesh: default, name: quick, spec: {targetRef: {kind: MeshHTTPRoute, name: r}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 1s}}}]}}
---
{type: MeshRetry, mesh: default, name: again, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 2, perTryTimeout: 200ms}}}]}}
---
{type: MeshTrafficPermission, mesh: default, name: everybody, spec: {targetRef: {kind: Mesh}, from: [{targetRef: {kind: Mesh}, default: {action: Allow}}]}}
---
{type: MeshTrafficPermission, mesh: default, name: admins, spec: {targetRef: {kind: MeshHTTPRoute, name: r, sectionName: "1"}, rules: [{default: {allow: [{spiffeID: {type: Exact, value: spiffe://default/ops}}]}}]}}
`

func resolved(t *testing.T, name string) *effective.Resolved {
	t.Helper()
	objects, err := decode.Objects(world.Catalog(), "mesh.yaml", []byte(mesh))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	objects = append(objects, &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: "caller"}), Spec: &api.DataplaneInsight{Identity: true}},
		&api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: "called"}), Spec: &api.DataplaneInsight{Identity: true}})
	m, _ := resolve.Compile(snapshot.New(1, objects...), world.Dialects(), world.Kinds())
	r, ok := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name})
	if !ok {
		t.Fatalf("there is no dataplane %s", name)
	}
	return r
}

func isRoute(kind string) bool { return strings.HasSuffix(kind, "Route") }

func by(documents ...string) string {
	var list []map[string]any
	for _, d := range documents {
		kind, rest, _ := strings.Cut(d, "/")
		name, field, _ := strings.Cut(rest, " ")
		list = append(list, map[string]any{"kind": kind, "mesh": "default", "name": name, "field": field})
	}
	text, _ := json.Marshal(list)
	return string(text)
}

// slotOf is that of the rule which takes a path.
func slotOf(t *testing.T, r *effective.Resolved, path string) int {
	t.Helper()
	table := r.Outbounds[0].Table
	for i, slot := range table.Slots() {
		if strings.Contains(table.Routes[i].Match.Short(), path) {
			return int(slot)
		}
	}
	t.Fatalf("no rule takes %s", path)
	return 0
}

// TestOf is what is told of a request at either side: its rule and policies as the line has them, its match,
// and the fields that explain how it ended.
func TestOf(t *testing.T) {
	t.Parallel()
	caller, called := resolved(t, "caller"), resolved(t, "called")
	a := slotOf(t, caller, "/a")
	first, second := "MeshHTTPRoute/r spec.to[0].rules[0]", "MeshHTTPRoute/r spec.to[0].rules[1]"
	for _, c := range []struct {
		name string
		of   *effective.Resolved
		line attach.SeenRequest
		want string
	}{
		{"a request timeout", caller, attach.SeenRequest{Table: "web", Slot: a, Status: 504, Flags: "UT", Details: "response_timeout", By: by(first, "MeshTimeout/quick spec.to[0]")},
			`caller to web, PathPrefix /a or Exact /b, by sidecar: request timeout; rule MeshHTTPRoute/r spec.to[0].rules[0]; MeshTimeout/quick spec.to[0]; http.requestTimeout "1s" of quick`},
		{"attempts that were too slow", caller, attach.SeenRequest{Table: "web", Slot: a, Status: 504, Flags: "URX,UT", Details: "upstream_per_try_timeout", By: by(first), Attempts: []attach.SeenAttempt{{Flags: "UT", Details: "upstream_per_try_timeout"}}},
			`caller to web, PathPrefix /a or Exact /b, by sidecar: per-try timeout; rule MeshHTTPRoute/r spec.to[0].rules[0]; ; http.numRetries 2 of again, http.perTryTimeout "200ms" of again`},
		{"an answer of the service", caller, attach.SeenRequest{Table: "web", Slot: a, Status: 500, Details: "via_upstream", By: by(first)},
			`caller to web, PathPrefix /a or Exact /b, by service: ; rule MeshHTTPRoute/r spec.to[0].rules[0]; ; `},
		{"a client that went away", caller, attach.SeenRequest{Table: "web", Slot: a, Flags: "DC", Details: "downstream_remote_disconnect", By: by(first)},
			`caller to web, PathPrefix /a or Exact /b, by client: the client went away; rule MeshHTTPRoute/r spec.to[0].rules[0]; ; `},
		{"a rule that is not there any more", caller, attach.SeenRequest{Table: "web", Slot: a, Status: 503, Flags: "UH", Details: "no_healthy_upstream", By: by("MeshHTTPRoute/before spec.to[0].rules[0]")},
			`caller to web, PathPrefix /a or Exact /b, by sidecar: nobody to send to; rule MeshHTTPRoute/before spec.to[0].rules[0]; ;  changed`},
		{"a table that is not there any more", caller, attach.SeenRequest{Table: "gone", Slot: a, Status: 503, Flags: "UH", Details: "no_healthy_upstream", By: "[{"},
			`caller to , , by sidecar: nobody to send to; rule none; ; `},
		{"a permission of a rule", called, attach.SeenRequest{Table: "inbound:127.0.0.2:80", Slot: -1, Status: 403, Details: "rbac_access_denied_matched_policy[none]", Caller: "spiffe://default/front", Client: "127.0.0.0/24", By: by(second)},
			`called from spiffe://default/front, , by sidecar: permission; rule MeshHTTPRoute/r spec.to[0].rules[1]; ; action "Allow" of everybody, allow [{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}}] of admins`},
		{"a permission of all requests", called, attach.SeenRequest{Table: "inbound:127.0.0.2:80", Slot: -1, Status: 403, Details: "rbac_access_denied_matched_policy[none]", Client: "127.0.0.0/24"},
			`called from 127.0.0.0/24, , by sidecar: permission; rule none; ; action "Allow" of everybody`},
	} {
		if got := text(seen.Of(c.of, &c.line, isRoute)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func text(r seen.Record) string {
	rule, list, why := "none", []string{}, []string{}
	if r.Rule != nil {
		rule = r.Rule.String()
	}
	for _, p := range r.Policies {
		list = append(list, p.String())
	}
	for _, b := range r.Because {
		value, _ := json.Marshal(b.Value)
		why = append(why, fmt.Sprintf("%s %s of %s", b.Field, value, b.Origin.Name))
	}
	other := "to " + r.To
	if r.Side == seen.SideCalled {
		other = "from " + r.Caller
	}
	out := fmt.Sprintf("%s %s, %s, by %s: %s; rule %s; %s; %s", r.Side, other, r.Match, r.EndedBy, r.Words, rule, strings.Join(list, ", "), strings.Join(why, ", "))
	if r.Changed {
		out += " changed"
	}
	return out
}
