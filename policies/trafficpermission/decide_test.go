package trafficpermission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/route/match"
)

// callers are those of a mesh whose workloads have Kuma's older names.
var callers = policies.Callers{Mesh: "default", Domains: []string{"default", "td"}}

// collected is what specs, weakest first, say of one inbound. One that begins with a word and
// a bar stands at that layer, or is a shadow, or came with the mesh.
func collected(t worldT, specs ...string) []policies.Collected {
	t.Helper()
	c := policytest.CatalogOf(trafficpermission.Kind)
	var out []policies.Collected
	for i, text := range specs {
		how, spec, ok := strings.Cut(text, "|")
		if !ok {
			how, spec = "", text
		}
		objects, err := decode.Objects(c, "f", fmt.Appendf(nil, "type: MeshTrafficPermission\nmesh: default\nname: p%d\nspec: %s\n", i, spec))
		if api.Refuses(err) {
			t.Fatalf("%s: %v", spec, err)
		}
		out = append(out, said(c, objects[0], how)...)
	}
	return out
}

type worldT interface {
	Helper()
	Fatalf(string, ...any)
}

func said(c *api.Catalog, o *api.Object, how string) (out []policies.Collected) {
	spec := o.Spec.(*policies.Spec)
	add := func(field string, i int, from *api.TargetRef, leaves, overrides []merge.Leaf) {
		layer := map[string]merge.LayerName{"": merge.Mesh, "route": merge.Route, "rule": merge.Rule}[how]
		x := policies.Collected{Layer: merge.Layer{Name: layer, Origin: &api.Origin{Ref: o.Ref, Field: api.Path("spec").Field(field).Index(i)}, Leaves: leaves},
			From: from, KRI: c.KRI(o), Default: how == "default", Shadow: how == "shadow"}
		if len(leaves) > 0 {
			out = append(out, x)
		}
		if len(overrides) > 0 {
			x.Override, x.Leaves = true, overrides
			out = append(out, x)
		}
	}
	for i := range spec.From {
		add("from", i, &spec.From[i].TargetRef, spec.From[i].Leaves(), spec.From[i].Overrides())
	}
	for i := range spec.Rules {
		add("rules", i, nil, spec.Rules[i].Leaves(), spec.Rules[i].Overrides())
	}
	return out
}

func permissionsOf(t worldT, specs ...string) *trafficpermission.Permissions {
	t.Helper()
	return trafficpermission.Of(trafficpermission.Kind.Gather(callers, collected(t, specs...)))
}

// asked is a request written 'who METHOD path'; of a caller without a name, who is "-".
func asked(text string) *trafficpermission.Asked {
	f := strings.Fields(text)
	a := &trafficpermission.Asked{}
	for _, name := range strings.Split(f[0], "+") {
		switch {
		case name == "-":
		case strings.Contains(name, "://"):
			a.Names = append(a.Names, name)
		default:
			a.Names = append(a.Names, "spiffe://default/"+name)
		}
	}
	if len(f) > 1 {
		a.Request = &match.Request{Method: f[1], Path: f[2]}
	}
	return a
}

// TestDecision: cases of spec/identity.md 8 as far as they decide, by their number.
func TestDecision(t *testing.T) {
	t.Parallel()
	const (
		allowA   = `{rules: [{default: {allow: [{spiffeID: {type: Exact, value: spiffe://default/a}}]}}]}`
		denyA    = `{rules: [{default: {deny: [{spiffeID: {type: Exact, value: spiffe://default/a}}]}}]}`
		allowAll = `{rules: [{default: {allow: [{spiffeID: {type: Prefix, value: spiffe://default}}]}}]}`
		byMesh   = `default|{from: [{targetRef: {kind: Mesh}, default: {action: Allow}}]}`
		meshDeny = `{from: [{targetRef: {kind: Mesh}, default: {action: Deny}}]}`
		uiAllow  = `{from: [{targetRef: {kind: MeshService, name: ui}, default: {action: Allow}}]}`
		uiDeny   = `{from: [{targetRef: {kind: MeshService, name: ui}, default: {action: Deny}}]}`
	)
	for _, c := range []struct {
		what  string
		specs []string
		want  map[string]string // by request: tier and entry
	}{
		{"no document", nil, map[string]string{"a GET /": "-6", "- GET /": "+0"}},
		{"16: the permission of the mesh", []string{byMesh}, map[string]string{"a GET /": "+5 kri_mtp_default___p0_:0.fromAllow", "spiffe://other/a GET /": "-6"}},
		{"17: one permission", []string{allowA}, map[string]string{"a GET /": "+4 kri_mtp_default___p0_:0.allow0", "web GET /": "-6"}},
		{"18: beside the permission of the mesh", []string{byMesh, allowA}, map[string]string{"a GET /": "+4 kri_mtp_default___p1_:0.allow0", "b GET /": "-6"}},
		{"19: a deny goes first", []string{denyA, allowA}, map[string]string{"a GET /": "-3 kri_mtp_default___p0_:0.deny0"}},
		{"20: an override that allows", []string{`{rules: [{override: {allow: [{spiffeID: {type: Exact, value: spiffe://default/prom}}]}}]}`,
			`{rules: [{default: {deny: [{spiffeID: {type: Prefix, value: spiffe://default/}}]}}]}`},
			map[string]string{"prom GET /": "+2 kri_mtp_default___p0_:0.override.allow0", "a GET /": "-3 kri_mtp_default___p1_:0.deny0"}},
		{"an override that denies", []string{`{rules: [{override: {allow: [{spiffeID: {type: Exact, value: spiffe://default/a}}], deny: [{spiffeID: {type: Exact, value: spiffe://default/a}}]}}]}`},
			map[string]string{"a GET /": "-1 kri_mtp_default___p0_:0.override.deny0"}},
		{"21: from", []string{meshDeny, uiAllow}, map[string]string{"ui GET /": "+4 kri_mtp_default___p1_:0.fromAllow", "a GET /": "-6"}},
		{"21 the other way round", []string{uiAllow, meshDeny}, map[string]string{"ui GET /": "-6"}},
		{"22: from and rules", []string{meshDeny, uiAllow, allowA}, map[string]string{"ui GET /": "+4 kri_mtp_default___p1_:0.fromAllow", "a GET /": "+4 kri_mtp_default___p2_:0.allow0", "b GET /": "-6"}},
		{"23: a narrow Deny of from holds", []string{uiDeny, allowAll}, map[string]string{"ui GET /": "-3 kri_mtp_default___p0_:0.fromDeny", "a GET /": "+4 kri_mtp_default___p1_:0.allow0"}},
		{"F16: a Deny of from over which an Allow stands", []string{uiDeny, uiAllow}, map[string]string{"ui GET /": "+4 kri_mtp_default___p1_:0.fromAllow"}},
		{"24: the list of a rule replaces that of the mesh", []string{allowAll, `rule|{rules: [{default: {allow: [{spiffeID: {type: Exact, value: spiffe://default/ops}}]}}]}`},
			map[string]string{"ops GET /admin": "+4 kri_mtp_default___p1_:0.allow0", "web GET /admin": "-6"}},
		{"a deny of the mesh holds at a rule", []string{denyA, `rule|` + allowA}, map[string]string{"a GET /": "-3 kri_mtp_default___p0_:0.deny0"}},
		{"28: by method and path", []string{`{rules: [{default: {allow: [{http: {methods: [GET], path: {type: PathPrefix, value: /v1}}}]}}]}`},
			map[string]string{"a GET /v1": "+4 kri_mtp_default___p0_:0.allow0", "a GET /v1/x": "+4 kri_mtp_default___p0_:0.allow0", "a POST /v1/x": "-6", "a GET /v10": "-6", "a": "-6", "- GET /v2": "+0"}},
		{"29: allowed, and counted as refused", []string{`{rules: [{default: {allowWithShadowDeny: [{spiffeID: {type: Exact, value: spiffe://default/web}}]}}]}`},
			map[string]string{"web GET /": "+4 kri_mtp_default___p0_:0.allowWithShadowDeny0 shadow kri_mtp_default___p0_:0.allowWithShadowDeny0", "orders GET /": "-6"}},
		{"30: a document that is a shadow", []string{allowAll, "shadow|" + denyA},
			map[string]string{"a GET /": "+4 kri_mtp_default___p0_:0.allow0 shadow kri_mtp_default___p1_:0.deny0", "b GET /": "+4 kri_mtp_default___p0_:0.allow0"}},
		{"a shadow that would take the place of the permission of the mesh", []string{byMesh, "shadow|" + allowA},
			map[string]string{"a GET /": "+5 kri_mtp_default___p0_:0.fromAllow", "b GET /": "+5 kri_mtp_default___p0_:0.fromAllow shadow nobody"}},
		{"33: anonymous", []string{allowA, `{rules: [{default: {allow: [{anonymous: true, http: {path: {type: Exact, value: /metrics}}}]}}]}`},
			map[string]string{"- GET /metrics": "+4 kri_mtp_default___p1_:0.allow0", "- GET /": "-6", "a GET /": "+4 kri_mtp_default___p0_:0.allow0", "b GET /metrics": "-6"}},
		{"I6: a prefix that allows is read by segment", []string{`{rules: [{default: {allow: [{spiffeID: {type: Prefix, value: spiffe://default/frontend}}]}}]}`},
			map[string]string{"frontend GET /": "+4 kri_mtp_default___p0_:0.allow0", "frontend/x GET /": "+4 kri_mtp_default___p0_:0.allow0", "frontend-evil GET /": "-6", "spiffe://default-evil/frontend GET /": "-6"}},
		{"and one that denies by byte", []string{allowAll, `{rules: [{default: {deny: [{spiffeID: {type: Prefix, value: spiffe://default/fr}}]}}]}`},
			map[string]string{"frontend GET /": "-3 kri_mtp_default___p1_:0.deny0", "a GET /": "+4 kri_mtp_default___p0_:0.allow0"}},
		{"I7, F3: one of several names", []string{allowAll, denyA}, map[string]string{"other+a GET /": "-3 kri_mtp_default___p1_:0.deny0", "other GET /": "+4 kri_mtp_default___p0_:0.allow0"}},
		{"tags of older names", []string{meshDeny, `{from: [{targetRef: {kind: MeshSubset, tags: {version: v1}}, default: {action: Allow}}]}`},
			map[string]string{"a+kuma://version/v1 GET /": "+4 kri_mtp_default___p1_:0.fromAllow", "a+kuma://version/v2 GET /": "-6", "spiffe://other/a+kuma://version/v1 GET /": "-6"}},
	} {
		p := permissionsOf(t, c.specs...)
		for text, want := range c.want {
			if got := verdict(p.Decide(asked(text))); got != want {
				t.Errorf("%s: %s: %s, want %s", c.what, text, got, want)
			}
		}
	}
}

func verdict(v trafficpermission.Verdict) string {
	out := fmt.Sprintf("%c%d", map[bool]rune{true: '+', false: '-'}[v.Allowed], v.Tier)
	if v.By != nil {
		out += " " + v.By.Name
	}
	switch {
	case v.ShadowDenied != nil:
		out += " shadow " + v.ShadowDenied.Name
	case v.ShadowNobody:
		out += " shadow nobody"
	}
	return out
}

// TestConsidered: a request that is denied is told what was looked at.
func TestConsidered(t *testing.T) {
	t.Parallel()
	p := permissionsOf(t, `{rules: [{default: {allow: [
		{spiffeID: {type: Exact, value: spiffe://default/ops}}, {http: {methods: [GET]}}, {http: {path: {type: PathPrefix, value: /v1}}}]}}]}`,
		`{rules: [{default: {allow: [{http: {headers: [{name: x, value: "1"}]}}]}}]}`)
	var got []string
	for _, c := range p.Decide(asked("web POST /admin")).Considered {
		got = append(got, c.By.String()+": "+c.Why)
	}
	want := []string{
		"MeshTrafficPermission/default/p0 spec.rules[0].default.allow[0]: the caller is spiffe://default/web",
		"MeshTrafficPermission/default/p0 spec.rules[0].default.allow[1]: the method is POST",
		"MeshTrafficPermission/default/p0 spec.rules[0].default.allow[2]: the path is /admin",
		"MeshTrafficPermission/default/p1 spec.rules[0].default.allow[0]: the header x is another",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// TestOrderDoesNotMatter: in whatever order documents with rules stand, the verdict is one
// (spec/identity.md 4.1).
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		said := collected(t, rapid.SliceOfN(anyRules, 1, 5).Draw(t, "documents")...)
		order := rapid.Permutation(said).Draw(t, "order")
		a, b := trafficpermission.Of(trafficpermission.Kind.Gather(callers, said)), trafficpermission.Of(trafficpermission.Kind.Gather(callers, order))
		for _, text := range questions {
			if x, y := verdict(a.Decide(asked(text))), verdict(b.Decide(asked(text))); x != y {
				t.Fatalf("%s: %s and %s", text, x, y)
			}
		}
	})
}

// TestAllowsOpenNothingThatIsDenied: whatever is added to a world, who is denied by an entry
// stays denied unless an override allows (spec/identity.md 4.1).
func TestAllowsOpenNothingThatIsDenied(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfN(anyRules, 1, 4).Draw(t, "documents")
		more := rapid.Custom(func(t *rapid.T) string { return strings.ReplaceAll(anyRules.Draw(t, "more"), "override", "default") }).Draw(t, "more")
		a, b := permissionsOf(t, docs...), permissionsOf(t, append(docs, more)...)
		for _, text := range questions {
			if x := a.Decide(asked(text)); !x.Allowed && x.By != nil && len(asked(text).Names) > 0 && b.Decide(asked(text)).Allowed {
				t.Fatalf("%s: %s, with %s allowed", text, verdict(x), more)
			}
		}
	})
}

// names and paths are few, so that entries hold of requests.
var (
	someNames = []string{"a", "ab", "a/x", "ops", "spiffe://td/a", "a+kuma://version/v1", "ops+a"}
	somePaths = []string{"/", "/v1", "/v1/x", "/v10", "/admin"}
	questions = func() (out []string) {
		for _, who := range append([]string{"-"}, someNames...) {
			for _, path := range somePaths {
				out = append(out, who+" GET "+path, who+" POST "+path)
			}
		}
		return out
	}()
	anyMatch = rapid.Custom(func(t *rapid.T) string {
		var parts []string
		switch rapid.IntRange(0, 5).Draw(t, "who") {
		case 0:
			parts = append(parts, "anonymous: true")
		case 1:
		default:
			parts = append(parts, fmt.Sprintf("spiffeID: {type: %s, value: %s}", rapid.SampledFrom([]string{"Exact", "Prefix"}).Draw(t, "type"),
				rapid.SampledFrom([]string{"spiffe://default/a", "spiffe://default/ops", "spiffe://default", "spiffe://td/a", "spiffe://default/a/x"}).Draw(t, "name")))
		}
		if rapid.Bool().Draw(t, "http") || len(parts) == 0 {
			http := fmt.Sprintf("path: {type: %s, value: %s}", rapid.SampledFrom([]string{"Exact", "PathPrefix"}).Draw(t, "path type"), rapid.SampledFrom(somePaths).Draw(t, "path"))
			if rapid.Bool().Draw(t, "methods") {
				http = fmt.Sprintf("methods: [%s]", rapid.SampledFrom([]string{"GET", "POST", "GET, POST"}).Draw(t, "method"))
			}
			parts = append(parts, "http: {"+http+"}")
		}
		return "{" + strings.Join(parts, ", ") + "}"
	})
	anyLists = rapid.Custom(func(t *rapid.T) string {
		var lists []string
		for _, name := range []string{"deny", "allow", "allowWithShadowDeny"} {
			if list := rapid.SliceOfN(anyMatch, 0, 2).Draw(t, name); len(list) > 0 {
				lists = append(lists, name+": ["+strings.Join(list, ", ")+"]")
			}
		}
		if len(lists) == 0 {
			lists = append(lists, "allow: ["+anyMatch.Draw(t, "match")+"]")
		}
		return "{" + strings.Join(lists, ", ") + "}"
	})
	anyRules = rapid.Custom(func(t *rapid.T) string {
		how := rapid.SampledFrom([]string{"", "", "", "route|", "rule|", "shadow|"}).Draw(t, "how")
		part := rapid.SampledFrom([]string{"default", "default", "override"}).Draw(t, "part")
		return how + "{rules: [{" + part + ": " + anyLists.Draw(t, "lists") + "}]}"
	})
	anyFrom = rapid.Custom(func(t *rapid.T) string {
		ref := rapid.SampledFrom([]string{"{kind: Mesh}", "{kind: MeshService, name: a}", "{kind: MeshService, name: ops}", "{kind: MeshSubset, tags: {version: v1}}"}).Draw(t, "ref")
		return fmt.Sprintf("{from: [{targetRef: %s, default: {action: %s}}]}", ref, rapid.SampledFrom([]string{"Allow", "Deny", "AllowWithShadowDeny"}).Draw(t, "action"))
	})
)

// TestAccessIsWhatDecideSays: who is said to be let in, or kept out, whatever it asks for, is.
func TestAccessIsWhatDecideSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfN(rapid.OneOf(anyRules, anyFrom), 1, 4).Draw(t, "documents")
		e := trafficpermission.Kind.Gather(callers, collected(t, docs...)).Conf.(*trafficpermission.Effective)
		for _, text := range questions {
			a := asked(text)
			said, is := e.Access(a.Names, true), e.Decide(a)
			if said.Decision == "allow" && !is.Allowed || said.Decision == "deny" && is.Allowed {
				t.Fatalf("%s: %s, and Decide says %s", text, said.Decision, verdict(is))
			}
		}
	})
}
