package toykind_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/toykind"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// kinds is the list with the one entry that makes the kind known.
func kinds() []*policies.Kind { return append(slices.Clone(world.Kinds()), toykind.Kind) }

var catalog = api.NewCatalog(append(world.Types(), toykind.Kind.Type())...)

// Documents of the tests. The mesh lets all of its workloads in by the permission of everybody, so that
// guest lists alone tell callers apart.
const (
	everybody = `{type: MeshTrafficPermission, mesh: default, name: all, spec: {rules: [{default: {allow: [{spiffeID: {type: Prefix, value: "spiffe://default"}}]}}]}}`
	opsOnly   = `{type: MeshTrafficPermission, mesh: default, name: all, spec: {rules: [{default: {allow: [{spiffeID: {type: Exact, value: "spiffe://default/ops"}}]}}]}}`
	guests    = `{type: MeshGuestList, mesh: default, name: guests, spec: {targetRef: {kind: Dataplane, name: backend}, rules: [{default: {guests: [{under: "spiffe://default/web"}]}}]}}`
	tagged    = `{type: MeshGuestList, mesh: default, name: guests, spec: {targetRef: {kind: Dataplane, name: backend}, rules: [{default: {guests: [{tags: {kuma.io/service: ops}}]}}]}}`
	routes    = `{type: MeshHTTPRoute, mesh: default, name: r, spec: {to: [{targetRef: {kind: MeshService, name: backend}, rules: [
  {name: admin, matches: [{path: {type: PathPrefix, value: /admin}}], default: {}}]}]}}`
	atRule    = `{type: MeshGuestList, mesh: default, name: admins, spec: {targetRef: {kind: MeshHTTPRoute, name: r, sectionName: admin}, rules: [{default: {guests: [{under: "spiffe://default/ops"}]}}]}}`
	webAtRule = `{type: MeshTrafficPermission, mesh: default, name: web-admins, spec: {targetRef: {kind: MeshHTTPRoute, name: r, sectionName: admin}, rules: [{default: {allow: [{spiffeID: {type: Exact, value: "spiffe://default/web"}}]}}]}}`
)

// objectsOf are those of documents, which may have warnings.
func objectsOf(t *testing.T, documents ...string) (out []*api.Object) {
	t.Helper()
	for _, text := range documents {
		o, err := decode.Objects(catalog, "f", []byte(text))
		if api.Refuses(err) {
			t.Fatal(err)
		}
		out = append(out, o...)
	}
	return out
}

// guarded are the dataplanes web, ops and backend (at 80 http, at 90 tcp) of a mesh with an authority,
// and documents. The first two call backend, and all have proved who they are.
func guarded(t *testing.T, mode string, documents ...string) []*api.Object {
	t.Helper()
	documents = append(documents, fmt.Sprintf(`{type: Mesh, name: default, mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin, mode: %s}]}}`, mode))
	var objects []*api.Object
	for i, name := range []string{"web", "ops", "backend"} {
		inbound := fmt.Sprintf(`{port: 80, tags: {kuma.io/service: %s, kuma.io/protocol: http}}`, name)
		if name == "backend" {
			inbound += `, {port: 90, tags: {kuma.io/service: database, kuma.io/protocol: tcp}}`
		}
		documents = append(documents, fmt.Sprintf(`{type: Dataplane, mesh: default, name: %s, networking: {address: 10.0.0.%d, inbound: [%s], outbound: [
  {port: 1080, tags: {kuma.io/service: backend}}, {port: 1090, tags: {kuma.io/service: database}}]}}`, name, i+1, inbound))
		objects = append(objects, &api.Object{Ref: api.InsightRef(api.Ref{Mesh: "default", Name: name}), Spec: &api.DataplaneInsight{Identity: true, TLS: true}})
	}
	return append(objects, objectsOf(t, documents...)...)
}

func compile(objects ...*api.Object) *resolve.Model {
	m, _ := resolve.Compile(snapshot.New(1, objects...), world.Dialects(), kinds())
	return m
}

func dataplane(name string) api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}
}

// asked is what becomes of a request of a dataplane to a path of backend, or of a connection to
// database.
func asked(t *testing.T, m *resolve.Model, from, path string) string {
	t.Helper()
	url := "http://127.0.0.1:1080" + path
	if path == "" {
		url = "tcp://127.0.0.1:1090"
	}
	v, err := sim.Run(m, dataplane(from), wire.Request{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	b := v.Branches[0]
	out := fmt.Sprintf("%s %d", b.Outcome, b.Status)
	if p := b.Permission; p != nil {
		out += " " + p.Decision
		if p.By != nil {
			out += " by " + p.By.Origin.Name
		}
		if p.Reason != "" {
			out += ": " + p.Reason
		}
		for _, c := range p.Others {
			out += "; " + c.By.Origin.Name
		}
	}
	return out
}

// TestValidated: documents are read strictly, and what is wrong is told where it stands.
func TestValidated(t *testing.T) {
	t.Parallel()
	const frame = `{type: MeshGuestList, mesh: default, name: g, spec: {targetRef: {kind: Mesh}, %s}}`
	for text, want := range map[string]string{
		`rules: [{default: {guests: [{under: "spiffe://default"}]}}]`:                 "",
		`rules: [{default: {guests: []}}]`:                                            "names nobody",
		`rules: [{default: {guests: [{}]}}]`:                                          "is nobody",
		`rules: [{default: {guests: [{under: default/web}]}}]`:                        "is no SPIFFE ID",
		`rules: [{default: {visitors: []}}]`:                                          "visitors",
		`rules: [{matches: [{sni: {type: Exact, value: a}}], default: {guests: []}}]`: "holds for all callers",
		`to: [{targetRef: {kind: Mesh}, default: {guests: []}}]`:                      "is about what comes in",
	} {
		_, err := decode.Objects(catalog, "f", fmt.Appendf(nil, frame, text))
		if got := fmt.Sprint(err); err == nil != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := decode.Objects(catalog, "f", []byte(toykind.Kind.Example)); err != nil {
		t.Errorf("the example: %v", err)
	}
}

// TestSimulated: who is on a list gets in, and nobody else; each kind that authorizes has to let a
// caller in, at an inbound and at a rule of a route, and a list that is not there keeps nobody out.
func TestSimulated(t *testing.T) {
	t.Parallel()
	const all, stranger = "forward 0 allow by all", "deny: the caller is on no guest list"
	for name, c := range map[string]struct {
		documents []string
		want      map[string]string // by caller and path
	}{
		"no list":             {[]string{everybody}, map[string]string{"web /": all, "ops ": all}},
		"by name":             {[]string{everybody, guests}, map[string]string{"web /": all + "; guests", "ops /": "respond 403 " + stranger + "; all", "web ": all + "; guests", "ops ": "refused 0 " + stranger + "; all"}},
		"by tag":              {[]string{everybody, tagged}, map[string]string{"ops /": all + "; guests", "web /": "respond 403 " + stranger + "; all"}},
		"no permission":       {[]string{guests}, map[string]string{"web /": "respond 403 deny: no entry lets the caller in; guests"}},
		"nothing":             {nil, map[string]string{"web /": "respond 403 deny: no document lets anybody in"}},
		"two that differ":     {[]string{opsOnly, guests}, map[string]string{"web /": "respond 403 deny: no entry lets the caller in; all; guests", "ops /": "respond 403 " + stranger + "; all"}},
		"a rule":              {[]string{everybody, routes, atRule}, map[string]string{"web /": all, "web /admin": "respond 403 " + stranger + "; all", "ops /admin": all + "; admins"}},
		"a rule, a list":      {[]string{everybody, guests, routes, atRule}, map[string]string{"ops /": "respond 403 " + stranger + "; all", "ops /admin": all + "; admins", "web /admin": all + "; guests"}},
		"a rule of two kinds": {[]string{everybody, routes, atRule, webAtRule}, map[string]string{"web /": all, "web /admin": "respond 403 " + stranger + "; web-admins", "ops /admin": "respond 403 deny: no entry lets the caller in; web-admins; all; admins"}},
		"a rule alone":        {[]string{routes, atRule}, map[string]string{"ops /admin": "respond 403 deny: no entry lets the caller in; admins", "ops /": "respond 403 deny: no document lets anybody in"}},
	} {
		m := compile(guarded(t, "STRICT", c.documents...)...)
		for text, want := range c.want {
			from, path, _ := strings.Cut(text, " ")
			if got := asked(t, m, from, path); got != want {
				t.Errorf("%s: %s: %s, want %s", name, text, got, want)
			}
		}
	}
}
