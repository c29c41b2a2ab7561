package kuma_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/anyspec"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/kuma"
	"github.com/weftmesh/weft/route/match"
)

var catalog = api.NewCatalog(kuma.Dialect.Types...)

// Whatever a route holds, reading what was printed gives it again.
func TestDecodeUndoesPrint(t *testing.T) {
	t.Parallel()
	own := anyspec.Own{reflect.TypeFor[kuma.Percentage](): func(t *rapid.T) any {
		return *kuma.PercentOf(rapid.IntRange(0, 100).Draw(t, "percentage"))
	}}
	c := anyspec.Catalog(append([]api.Type(nil), kuma.Dialect.Types...)...)
	for _, typ := range c.Types() {
		t.Run(typ.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				o := own.Object(t, typ)
				for _, print := range []func(*api.Catalog, *api.Object) ([]byte, error){decode.PrintJSON, decode.PrintYAML} {
					text, err := print(c, o)
					if err != nil {
						t.Fatal(err)
					}
					again, err := decode.One(c, "", text, o.Ref)
					if err != nil {
						t.Fatalf("%v in\n%s", err, text)
					}
					if diff := cmp.Diff(o, again, cmpopts.IgnoreFields(api.Object{}, "Source"), cmp.AllowUnexported(kuma.Percentage{})); diff != "" {
						t.Fatalf("%s\nin\n%s", diff, text)
					}
				}
			})
		})
	}
}

// A ref of a kind that another language brings is told from a misspelt one.
func TestRefsKnowTheCatalog(t *testing.T) {
	t.Parallel()
	c := api.NewCatalog(append([]api.Type{{Name: "OtherRoute", Route: true}}, kuma.Dialect.Types...)...)
	for _, typ := range kuma.Dialect.Types {
		for kind, want := range map[string]string{
			"OtherRoute": "OtherRoute cannot stand here; write one of Mesh, ",
			typ.Name:     typ.Name + " cannot stand here; write one of Mesh, ",
			"OtherRout":  `unknown value "OtherRout"; write one of Mesh, `,
		} {
			_, err := decode.Objects(c, "", []byte("type: "+typ.Name+"\nname: a\nspec: {targetRef: {kind: "+kind+"}, to: []}\n"))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a %s of %s: %v, want %s", typ.Name, kind, err, want)
			}
		}
	}
}

const everything = `
type: MeshHTTPRoute
mesh: m
name: r
spec:
  targetRef: {kind: Dataplane, labels: {app: web}}
  to:
  - targetRef: {kind: MeshService, name: web}
    rules:
    - name: first
      matches:
      - path: {type: PathPrefix, value: /v1}
        method: GET
        queryParams: [{type: Exact, name: q, value: ""}]
        headers: [{name: a, value: b}, {type: Absent, name: c}]
      default:
        filters:
        - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: "100%"}], add: [{name: b, value: c}], remove: [d]}}
        - {type: ResponseHeaderModifier, responseHeaderModifier: {remove: [d]}}
        - {type: RequestRedirect, requestRedirect: {scheme: https, port: 8443, path: {type: ReplacePrefixMatch, replacePrefixMatch: ""}}}
        - {type: URLRewrite, urlRewrite: {hostname: a.b, path: {type: ReplaceFullPath, replaceFullPath: /x}}}
        - {type: RequestMirror, requestMirror: {percentage: "0.5", backendRef: {kind: MeshService, name: s, port: 80}}}
        backendRefs:
        - {kind: MeshServiceSubset, name: s, tags: {version: v1}, weight: 0}
        - {kind: MeshService, name: s, namespace: n, port: 80}
        - {kind: MeshService, labels: {a: b}, sectionName: http}
    - matches: [{}]
      default: {backendRefs: [], filters: null}
  - targetRef: {kind: MeshExternalService, name: ext}
    rules:
    - matches: [{path: {type: Exact, value: /}}]
      default: {}
`

// Every field of a document arrives in the route model.
func TestEveryFieldIsCarried(t *testing.T) {
	t.Parallel()
	objects, err := decode.Objects(catalog, "", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	key := func(to, rule int) string {
		return kuma.Key(objects[0].Spec.(*kuma.HTTPRoute).To[to].Rules[rule].Matches)
	}
	zero, first, one := 0, 0, 1
	origin := func(to, rule *int, name, field string) *api.Origin {
		return &api.Origin{Ref: api.Ref{Kind: "MeshHTTPRoute", Mesh: "m", Name: "r"}, To: to, Rule: rule, RuleName: name, Field: api.Path(field)}
	}
	matches := [][]match.Match{
		{matches.Of(matches.On(match.OnPath, match.SegmentPrefix, "", "/v1"), matches.Method("GET"),
			matches.On(match.OnHeader, match.Equal, "a", "b"), matches.Absent("c"), matches.On(match.OnQuery, match.Equal, "q", ""))},
		{{Conditions: match.Conditions{}}},
		{matches.Path(match.Equal, "/")},
	}
	empty, full := "", "/x"
	home := api.Home{System: true}
	service := api.TargetRef{Kind: "MeshService", Name: "s"}
	refs := api.Path("spec.to[0].rules[0].default.backendRefs")
	backends := []route.BackendRef{
		{Target: api.TargetRef{Kind: "MeshServiceSubset", Name: "s", Tags: map[string]string{"version": "v1"}}, Broken: 500, Home: home, Field: refs.Index(0)},
		{Target: api.TargetRef{Kind: "MeshService", Name: "s", Namespace: "n"}, Port: 80, Weight: 1, Broken: 500, Home: home, Field: refs.Index(1)},
		{Target: api.TargetRef{Kind: "MeshService", Labels: map[string]string{"a": "b"}, SectionName: "http"}, Weight: 1, Broken: 500, Home: home, Field: refs.Index(2)},
	}
	mirror := route.BackendRef{Home: home, Target: service, Port: 80, Weight: 1, Field: "spec.to[0].rules[0].default.filters[4].requestMirror.backendRef"}
	origins := []*api.Origin{
		origin(&zero, &first, "first", "spec.to[0].rules[0]"), origin(&zero, &one, "", "spec.to[0].rules[1]"), origin(&one, &zero, "", "spec.to[1].rules[0]"),
	}
	want := &route.ParsedRoute{
		Object: objects[0], Top: api.TargetRef{Kind: "Dataplane", Labels: map[string]string{"app": "web"}}, Role: api.RoleSystem,
		Entries: []route.Entry{
			{To: api.TargetRef{Kind: "MeshService", Name: "web"}, Field: "spec.to[0].targetRef", Rules: []route.Rule{
				{Origin: origins[0], Matches: matches[0], Backends: backends, Mirrors: []route.BackendRef{mirror}},
				{Origin: origins[1], Matches: matches[1], Backends: []route.BackendRef{}},
			}},
			{To: api.TargetRef{Kind: "MeshExternalService", Name: "ext"}, Index: 1, Field: "spec.to[1].targetRef", Rules: []route.Rule{{Origin: origins[2], Matches: matches[2]}}},
		},
	}
	got := kuma.Dialect.Read(objects[0], nil)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(route.Rule{}, "Payload"), cmp.Comparer(func(a, b *api.Object) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	wantRules := []*route.MergedRule{
		{Key: key(0, 0), Name: key(0, 0), Matches: matches[0], Origins: origins[:1], FiltersBy: origins[0], ActionBy: origins[0],
			Do: &route.Redirect{Scheme: "https", Port: 8443, Path: &route.PathRewrite{Prefix: &empty}, Status: 302}, Filters: []route.Filter{
				{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: "a", Value: "100%"}}, Add: []route.Header{{Name: "b", Value: "c"}}, Remove: []string{"d"}}},
				{ResponseHeaders: &route.HeaderModifier{Remove: []string{"d"}}},
				{Rewrite: &route.Rewrite{Hostname: "a.b", Path: &route.PathRewrite{Full: &full}}},
				{Mirror: &route.Mirror{Percent: 0.5, Backend: mirror}},
			}},
		{Key: key(0, 1), Name: key(0, 1), Matches: matches[1], Origins: origins[1:2], ActionBy: origins[1], Do: route.Passthrough{}},
		{Key: key(1, 0), Name: key(1, 0), Matches: matches[2], Origins: origins[2:], Do: route.Passthrough{}},
	}
	var rules []*route.MergedRule
	for i := range got.Entries {
		for _, row := range kuma.Dialect.Compose(route.Frontend{}, []route.Candidate{{ParsedRoute: got, Entry: &got.Entries[i]}}).Rows {
			rules = append(rules, row.MergedRule)
		}
	}
	if diff := cmp.Diff(wantRules, rules); diff != "" {
		t.Error(diff)
	}
}

// What weft does not carry out is said, never dropped.
func TestUnsupportedIsNoted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"type: MeshTCPRoute\nname: r\nspec: {targetRef: {kind: MeshGateway, name: g}, to: [{targetRef: {kind: Mesh}, rules: [{default: {backendRefs: [{kind: MeshService, name: b, port: 1}]}}]}]}",
		"type: MeshHTTPRoute\nname: r\nspec: {targetRef: {kind: MeshGateway, name: g}, to: [{targetRef: {kind: Mesh}, hostnames: [a.b], rules: [{matches: [{}]}]}]}",
	} {
		objects, err := decode.Objects(catalog, "", []byte(text))
		if api.Refuses(err) {
			t.Fatal(err)
		}
		if notes := kuma.Dialect.Read(objects[0], nil).Notes; len(notes) != 1 || notes[0].Code != "TargetNotFound" {
			t.Errorf("%s: got %v", text, notes)
		}
	}
}

// TestTheStrongestListHolds: of several MeshTCPRoutes the strongest object's
// backends hold as a whole, and all are named (spec/kuma.md 2.4).
func TestTheStrongestListHolds(t *testing.T) {
	t.Parallel()
	var candidates []route.Candidate
	for _, text := range []string{
		"type: MeshTCPRoute\nname: weak\nspec: {to: [{targetRef: {kind: MeshService, name: db}, rules: [{default: {backendRefs: [{kind: MeshService, name: a}, {kind: MeshService, name: b}]}}]}]}",
		"type: MeshTCPRoute\nname: strong\nspec: {targetRef: {kind: Dataplane, labels: {a: b}}, to: [{targetRef: {kind: MeshService, name: db}, rules: [{default: {backendRefs: [{kind: MeshServiceSubset, name: c, tags: {v: '1'}, weight: 7}]}}]}]}",
	} {
		objects, err := decode.Objects(catalog, "", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		says := kuma.Dialect.Read(objects[0], nil)
		candidates = append(candidates, route.Candidate{ParsedRoute: says, Entry: &says.Entries[0]})
	}
	if top := candidates[1].Top; top.Kind != api.KindDataplane || len(candidates[1].Notes) > 0 {
		t.Errorf("it is for %v, with notes %v", top, candidates[1].Notes)
	}
	weak, strong := candidates[0].Rules[0].Origin, candidates[1].Rules[0].Origin
	want := route.Composition{Connections: &route.MergedRule{Origins: []*api.Origin{weak, strong}, ActionBy: strong, Do: &route.Forward{Backends: []route.BackendRef{{
		Target: api.TargetRef{Kind: api.KindMeshServiceSubset, Name: "c", Tags: map[string]string{"v": "1"}}, Weight: 7, Home: api.Home{System: true},
		Field: "spec.to[0].rules[0].default.backendRefs[0]",
	}}}}}
	if diff := cmp.Diff(want, kuma.Dialect.Compose(route.Frontend{Protocol: api.TCP}, candidates)); diff != "" {
		t.Error(diff)
	}
}

// What documents may say is the dialect's own: nothing of the route model is
// decoded, so a new field of it is legal nowhere.
func TestNothingOfTheModelIsDecoded(t *testing.T) {
	t.Parallel()
	model, seen := reflect.TypeFor[match.Match]().PkgPath(), map[reflect.Type]bool{}
	var walk func(at string, x reflect.Type)
	walk = func(at string, x reflect.Type) {
		for x.Kind() == reflect.Pointer || x.Kind() == reflect.Slice || x.Kind() == reflect.Map {
			x = x.Elem()
		}
		if x.PkgPath() == model {
			t.Errorf("%s is a %s", at, x)
		}
		if x.Kind() != reflect.Struct || seen[x] {
			return
		}
		seen[x] = true
		for i := range x.NumField() {
			walk(at+"."+x.Field(i).Name, x.Field(i).Type)
		}
	}
	for _, typ := range kuma.Dialect.Types {
		walk(typ.Name, reflect.TypeOf(typ.New()))
	}
	if len(seen) < 10 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
