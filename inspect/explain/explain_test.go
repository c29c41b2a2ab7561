package explain_test

import (
	"encoding/json"
	"testing"

	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/internal/inspecttest"
)

func TestExplainTakesEveryNameOfADestination(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, inspecttest.Street)
	for _, to := range []string{"", "web", "web:8080", "web:10001", "web.mesh", "web.mesh.local:8080", "127.0.0.1:10001"} {
		e, err := explain.Of(m, inspecttest.Plane("a-1"), to)
		if err != nil || len(e.Outbounds) != 1 {
			t.Errorf("%q: %v, %d outbounds", to, err, len(e.Outbounds))
		}
	}
}

// A built-in default has the kind that it belongs to for an origin, and no name:
// fields without a value are left out.
func TestDefaultsHaveNoName(t *testing.T) {
	t.Parallel()
	e, err := explain.Of(inspecttest.Model(t, inspecttest.Street), inspecttest.Plane("a-1"), "")
	if err != nil {
		t.Fatal(err)
	}
	said := e.Outbounds[0].Policies["MeshRetry"].Why["http.backOff.baseInterval"]
	got, err := json.Marshal(said[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"value":"25ms","origin":{"kind":"MeshRetry"},"layer":"default"}`; string(got) != want {
		t.Errorf("%s, wanted %s", got, want)
	}
}

// TestARedirectSaysWhoWroteIt: what stands beside the redirect of a rule is who wrote it: the document
// that says what becomes of requests, or the stronger one whose filters hold.
func TestARedirectSaysWhoWroteIt(t *testing.T) {
	t.Parallel()
	const redirect = `filters: [{type: RequestRedirect, requestRedirect: {hostname: elsewhere.example}}]`
	rules := func(name, top, filters string) string {
		return "\n---\ntype: MeshHTTPRoute\nmesh: default\nname: " + name + "\nspec:\n  targetRef: " + top +
			"\n  to: [{targetRef: {kind: MeshService, name: web}, rules: [{matches: [{path: {type: PathPrefix, value: /old}}], default: {" + filters + "}}]}]\n"
	}
	for name, x := range map[string]struct{ documents, want string }{
		"one":      {rules("moved", "{kind: Mesh}", redirect), "MeshHTTPRoute/default/moved"},
		"stronger": {rules("moved", "{kind: Mesh}", redirect) + rules("own", "{kind: Dataplane, labels: {team: red}}", redirect), "MeshHTTPRoute/default/own"},
	} {
		e, err := explain.Of(inspecttest.Model(t, inspecttest.Street+x.documents), inspecttest.Plane("a-1"), "web")
		if err != nil {
			t.Fatal(name, err)
		}
		found := ""
		for _, r := range e.Outbounds[0].Routes {
			if len(r.Filters) == 1 && r.FiltersBy != nil {
				found = r.FiltersBy.Ref.String()
			}
		}
		if found != x.want {
			t.Errorf("%s: %q, wanted %s: %+v", name, found, x.want, e.Outbounds[0].Routes)
		}
	}
}
