package permission_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// The documents of cases 24 to 27 and 40: a mesh in which everybody may call everybody, and a route
// of backend with the rules /admin, and /api, which goes on as /.
const (
	allowMesh  = `{"type":"MeshTrafficPermission","mesh":"default","name":"all","spec":{"rules":[{"default":{"allow":[{"spiffeID":{"type":"Prefix","value":"spiffe://default"}}]}}]}}`
	adminRoute = `{"type":"MeshHTTPRoute","mesh":"default","name":"r","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"backend"},"rules":[
		{"name":"admin","matches":[{"path":{"type":"PathPrefix","value":"/admin"}}],"default":{}},
		{"name":"api","matches":[{"path":{"type":"PathPrefix","value":"/api"}}],"default":{"filters":[{"type":"URLRewrite","urlRewrite":{"path":{"type":"ReplacePrefixMatch","replacePrefixMatch":"/"}}}]}},
		{"name":"old","matches":[{"path":{"type":"PathPrefix","value":"/old"}}],"default":{"filters":[{"type":"RequestRedirect","requestRedirect":{"path":{"type":"ReplaceFullPath","replaceFullPath":"/"}}}]}}]}]}}`
)

// opsOn is a permission that lets ops alone in by a rule.
func opsOn(name, section string) string {
	return `{"type":"MeshTrafficPermission","mesh":"default","name":"` + name + `","spec":{"targetRef":{"kind":"MeshHTTPRoute","name":"r"` + section + `},
		"rules":[{"default":{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}}]}}]}}`
}

// TestPermissionsOnRules: a permission on one rule is asked of what the rule takes, by whatever way
// it comes, and of nothing else (spec/identity.md 8, cases 24 to 26 and 40).
func TestPermissionsOnRules(t *testing.T) {
	t.Parallel()
	admin := guardedWorld(t, "STRICT", allowMesh, adminRoute, opsOn("p", `,"sectionName":"admin"`))
	rewritten := guardedWorld(t, "STRICT", allowMesh, adminRoute, opsOn("p", `,"sectionName":"api"`))
	whole := guardedWorld(t, "STRICT", allowMesh, adminRoute, opsOn("p", ""))
	const rule, all = "kri_mtp_default_default__p_:0.allow0", "kri_mtp_default_default__all_:0.allow0"
	for _, c := range []struct {
		what       string
		m          *resolve.Model
		from, path string
		want       string
	}{
		{"24", admin, "ops", "/admin", `1.00 forward 0 allow tier 4 as "spiffe://default/ops" by ` + rule},
		{"24, 40", admin, "web", "/admin", `1.00 respond 403 deny tier 6 as "spiffe://default/web"; ` + rule + `: the caller is spiffe://default/web; ` + all + `: MeshTrafficPermission/default/p stands in its place`},
		{"24", admin, "web", "/x", `1.00 forward 0 allow tier 4 as "spiffe://default/web" by ` + all},
		{"a segment", admin, "web", "/administrators", `1.00 forward 0 allow tier 4 as "spiffe://default/web" by ` + all},
		{"25", admin, "web", "//admin", `1.00 respond 403 deny tier 6`},
		{"25", admin, "web", "/admin%2f", `1.00 respond 400`},
		{"26, by the rule", rewritten, "web", "/api/x", `1.00 respond 403 deny tier 6`},
		{"26, by no rule", rewritten, "web", "/", `1.00 respond 403 deny tier 6`},
		{"26", rewritten, "ops", "/api/x", `1.00 forward 0 allow tier 4 as "spiffe://default/ops" by ` + rule},
		{"26, as which the rule may arrive", rewritten, "web", "/admin", `1.00 respond 403 deny tier 6`},
		{"a whole route", whole, "web", "/admin", `1.00 respond 403 deny tier 6`},
		{"what a rule answers by itself does not arrive", whole, "web", "/old", `1.00 redirect 302`},
	} {
		got := told(sim.Run(c.m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: c.from}, wire.Request{URL: "http://127.0.0.1:1080" + c.path}))
		if got != c.want && !strings.HasPrefix(got, c.want+" ") {
			t.Errorf("%s: %s %s:\n%s\nwant\n%s", c.what, c.from, c.path, got, c.want)
		}
	}
}

// TestPermissionsThatCannotBeAsked: where the server cannot know which requests are of a rule,
// nobody gets in by what it may be, and the permission says why (spec/identity.md 4.5 and 8, case 27).
func TestPermissionsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	of := func(old, with string) string { return strings.Replace(adminRoute, old, with, 1) }
	other := strings.ReplaceAll(strings.ReplaceAll(adminRoute, `"name":"r"`, `"name":"r2"`), `"name":"backend"`, `"name":"web"`)
	for _, c := range []struct {
		what       string
		documents  []string
		from, path string
		verdict    string
		note       string
	}{
		{"27: some clients alone have it", []string{of(`"spec":{`, `"spec":{"targetRef":{"kind":"Dataplane","labels":{"a":"b"}},`)}, "web", "/admin", "deny",
			"UnsupportedValue some clients alone have the route, and the server cannot know who has it; until then nobody gets in who asks for what its rules take"},
		{"27, elsewhere", []string{of(`"spec":{`, `"spec":{"targetRef":{"kind":"Dataplane","labels":{"a":"b"}},`)}, "web", "/x", "allow", "UnsupportedValue"},
		{"a header that the rule writes", []string{of(`"path":{"type":"PathPrefix","value":"/admin"}}],"default":{}`,
			`"headers":[{"name":"x-a","value":"1"}]}],"default":{"filters":[{"type":"RequestHeaderModifier","requestHeaderModifier":{"set":[{"name":"x-a","value":"2"}]}}]}`)}, "web", "/x", "deny",
			"UnsupportedValue what arrives by MeshHTTPRoute/default/r"},
		{"the rules of another route", []string{adminRoute, other, strings.Replace(other, `"name":"r2"`, `"name":"r3"`, 1)}, "web", "/x", "allow", ""},
	} {
		m := guardedWorld(t, "STRICT", append(c.documents, allowMesh, opsOn("p", `,"sectionName":"admin"`))...)
		v, err := sim.Run(m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: c.from}, wire.Request{URL: "http://127.0.0.1:1080" + c.path})
		if err != nil || v.Branches[0].Permission == nil || v.Branches[0].Permission.Decision != c.verdict {
			t.Errorf("%s: %s, want %s", c.what, told(v, err), c.verdict)
		}
		var notes []string
		for _, n := range m.Reader(nil).NotesOn(api.Ref{Kind: "MeshTrafficPermission", Mesh: "default", Name: "p"}) {
			if n.Severity == api.Error {
				notes = append(notes, n.Code+" "+n.Message)
			}
		}
		if got := strings.Join(notes, "\n"); c.note == "" && got != "" || !strings.HasPrefix(got, c.note) {
			t.Errorf("%s: %s\nwant %s", c.what, got, c.note)
		}
	}
}

// TestOneFrontendAnInbound: an inbound goes by the permissions on the rules of one frontend, which
// has the oldest; what the rules of another take is denied there, and its permission says so
// (spec/identity.md 4.5).
func TestOneFrontendAnInbound(t *testing.T) {
	t.Parallel()
	const toBackend = `"default":{"backendRefs":[{"kind":"MeshService","name":"backend"}]}`
	second := strings.NewReplacer(`"name":"r"`, `"name":"r2"`, `"name":"backend"`, `"name":"web"`, `"value":"/admin"}}],"default":{}`, `"value":"/second"}}],`+toBackend).Replace(adminRoute)
	m := guardedWorld(t, "STRICT", allowMesh, adminRoute, second, opsOn("p", `,"sectionName":"admin"`),
		strings.Replace(opsOn("p2", `,"sectionName":"admin"`), `"name":"r"`, `"name":"r2"`, 1))
	for _, c := range []struct{ from, path, want string }{
		{"ops", "/admin", "allow"}, {"web", "/admin", "deny"}, {"web", "/x", "allow"}, {"ops", "/second", "deny"}, {"web", "/second/x", "deny"},
	} {
		v, err := sim.Run(m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: c.from}, wire.Request{URL: "http://127.0.0.1:1080" + c.path})
		if err != nil || v.Branches[0].Permission == nil || v.Branches[0].Permission.Decision != c.want {
			t.Errorf("%s %s: %s, want %s", c.from, c.path, told(v, err), c.want)
		}
	}
	for name, want := range map[string]string{"p": "", "p2": "Conflicted inbound 80 of Dataplane/default/backend goes by the permissions on the rules of backend"} {
		got := ""
		for _, n := range m.Reader(nil).NotesOn(api.Ref{Kind: "MeshTrafficPermission", Mesh: "default", Name: name}) {
			if n.Severity == api.Error {
				got += n.Code + " " + n.Message
			}
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
