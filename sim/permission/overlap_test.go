package permission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// overlapping is a route of backend with some rules, and onRule a permission for one caller on one.
func overlapping(rules ...string) string {
	return `{"type":"MeshHTTPRoute","mesh":"default","name":"r","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"backend"},"rules":[` + strings.Join(rules, ",") + `]}]}}`
}

func onRule(index int, caller string) string {
	return fmt.Sprintf(`{"type":"MeshTrafficPermission","mesh":"default","name":"for-%s-%d","spec":{"targetRef":{"kind":"MeshHTTPRoute","name":"r","sectionName":"%d"},
		"rules":[{"default":{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/%s"}}]}}]}}`, caller, index, index, caller)
}

// taking is a rule for a prefix, that rewrites it where with is there, and asks for a header x-a and
// writes it where they are there.
func taking(prefix, with string, more ...string) string {
	filters := more
	if with != "" {
		filters = append(filters, fmt.Sprintf(`{"type":"URLRewrite","urlRewrite":{"path":{"type":"ReplacePrefixMatch","replacePrefixMatch":%q}}}`, with))
	}
	return fmt.Sprintf(`{"matches":[{"path":{"type":"PathPrefix","value":%q}}],"default":{"filters":[%s]}}`, prefix, strings.Join(filters, ","))
}

// TestRewritesOpenNoRule: what may be a request of a rule with a permission is asked for it, whatever
// other rules make of theirs, and nothing else is.
func TestRewritesOpenNoRule(t *testing.T) {
	t.Parallel()
	elsewhere := `{"matches":[{"path":{"type":"PathPrefix","value":"/else"}}],"default":{"filters":[{"type":"URLRewrite","urlRewrite":{"path":{"type":"ReplacePrefixMatch","replacePrefixMatch":"/"}}}],
		"backendRefs":[{"kind":"MeshService","name":"ops"}]}}`
	writes := taking("/writes", "/asks", `{"type":"RequestHeaderModifier","requestHeaderModifier":{"set":[{"name":"x-a","value":"1"}]}}`)
	asks := `{"matches":[{"path":{"type":"PathPrefix","value":"/asks"},"headers":[{"name":"x-a","value":"1"}]}],"default":{}}`
	plain := taking("/admin", "")
	for _, c := range []struct {
		what      string
		documents []string
		verdicts  string // caller, path and decision, one after the other
		warned    string // of the first permission
	}{
		{"a rule that rewrites before it", []string{overlapping(taking("/storefront", "/"), plain), onRule(1, "ops")},
			"web /admin deny, web /storefront/admin deny, ops /admin allow, ops /storefront/admin allow, web /storefront allow, web /x allow",
			"requests of MeshHTTPRoute/default/r rule 0 may arrive as what MeshHTTPRoute/default/r rule 1 takes (PathPrefix /admin)"},
		{"and behind it", []string{overlapping(plain, taking("/storefront", "/")), onRule(0, "ops")}, "web /admin deny, web /storefront/admin deny, web /storefront/x allow, ops /admin allow", "OverlappingRules"},
		{"one that leads elsewhere takes no part", []string{overlapping(elsewhere, plain), onRule(1, "ops")}, "web /admin deny, ops /admin allow, web /x allow", ""},
		{"both have a permission", []string{overlapping(taking("/storefront", "/"), plain), onRule(0, "web"), onRule(1, "ops")},
			"web /admin deny, ops /admin deny, web /storefront/x allow, ops /storefront/x deny", "and for MeshTrafficPermission/default/for-"},
		{"two rules exchange their paths", []string{overlapping(taking("/a", "/b"), taking("/b", "/a")), onRule(0, "web"), onRule(1, "ops")},
			"web /a/x allow, ops /a/x deny, web /b/x deny, ops /b/x allow", ""},
		{"a narrower rule before it stays open", []string{overlapping(taking("/admin/public", ""), plain), onRule(1, "ops")}, "web /admin/public allow, web /admin deny, ops /admin allow", ""},
		{"but not to what the rule makes of others", []string{overlapping(taking("/admin/public", ""), taking("/api", "/")), onRule(1, "ops")},
			"web /api/admin/public deny, web /admin/public deny, ops /admin/public allow", "OverlappingRules"},
		{"a header that it writes", []string{overlapping(asks, writes), onRule(0, "ops"), onRule(1, "web")}, "web /writes deny, ops /writes deny", "OverlappingRules"},
		{"paths that do not meet", []string{overlapping(taking("/a", "/x"), taking("/b", "/y"), plain), onRule(0, "ops"), onRule(2, "ops")},
			"web /a deny, ops /a allow, web /b allow, web /admin deny, web /y allow, web /x deny", ""},
	} {
		m := guardedWorld(t, "STRICT", append(c.documents, allowMesh)...)
		for _, want := range strings.Split(c.verdicts, ", ") {
			part := strings.Fields(want)
			v, err := sim.Run(m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: part[0]}, wire.Request{URL: "http://127.0.0.1:1080" + part[1]})
			if err != nil || v.Branches[0].Permission == nil || v.Branches[0].Permission.Decision != part[2] {
				t.Errorf("%s: %s: %s", c.what, want, told(v, err))
			}
		}
		var notes []string
		for _, p := range []string{"for-ops-0", "for-web-0", "for-ops-1", "for-web-1"} {
			for _, n := range m.Reader(nil).NotesOn(api.Ref{Kind: "MeshTrafficPermission", Mesh: "default", Name: p}) {
				if n.Severity != api.Info && n.Code != "EscapedSlashRefused" { // that is of every permission on rules told apart by paths
					notes = append(notes, n.Code+" "+n.Message)
				}
			}
		}
		if got := strings.Join(notes, "\n"); c.warned == "" && got != "" || !strings.Contains(got, c.warned) {
			t.Errorf("%s: %q, want %q", c.what, got, c.warned)
		}
	}
}

// TestBothAreTold: a verdict says which permissions were asked beside the one that decided.
func TestBothAreTold(t *testing.T) {
	t.Parallel()
	m := guardedWorld(t, "STRICT", overlapping(taking("/storefront", "/"), taking("/admin", "")), allowMesh, onRule(0, "web"), onRule(1, "ops"), strings.Replace(onRule(1, "web"), "for-web-1", "for-both", 1))
	v, err := sim.Run(m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web"}, wire.Request{URL: "http://127.0.0.1:1080/admin"})
	got := told(v, err)
	for _, want := range []string{"1.00 forward 0 allow tier 4", "for-both", "for-web-0", "as all that are asked have to"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %q", got, want)
		}
	}
	if rules := v.Branches[0].Permission.Rules; len(rules) != 2 {
		t.Errorf("it may be of %v, want both rules", rules)
	}
}
