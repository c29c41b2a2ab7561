package weft_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/policies"
)

// tellers name kinds of policies outside their folders, and why.
var tellers = map[string]string{
	"route":                  "what a route can say in the terms of policies is typed, by kind (route.InlinePolicy)",
	"inspect/kuma":           "Kuma lists its kinds in an order of its own",
	"cmd/weft/internal/demo": "the demonstration tells of documents that it applies",
}

// importers import a kind of policy outside the folders of policies, and why. The list only gets shorter:
// who wants to know what a kind does asks it for an interface (policies.Authorizer, policies.TransportSecurity).
var importers = map[string]string{
	"control/admission policies/trafficpermission": "the permission that comes with a mesh is one, and so are those beside which it does not come",
	"control/issuer policies/trafficpermission":    "the document of revocations is one",
	"control/mtls policies/tls":                    "by which documents inbounds may turn strict",
	"inspect/mtls policies/tls":                    "the same, as it is told",
}

// homonyms are kinds whose name means something else elsewhere, and what.
var homonyms = map[string]string{"Gateway": "a type of proxy in targetRef.proxyTypes"}

// TestKindsAreKnownAtHome: the name of a kind of route or policy stands in the
// folder of its dialect or kind; everybody else asks the Catalog, so that a new
// one is no edit elsewhere.
func TestKindsAreKnownAtHome(t *testing.T) {
	t.Parallel()
	homes := map[string]string{}
	for _, d := range world.Dialects() {
		for _, typ := range d.Types {
			homes[typ.Name], homes[typ.Plural] = "route/"+d.Name, "route/"+d.Name
		}
	}
	for _, k := range world.Kinds() {
		homes[k.Name], homes[k.Plural] = homeOf(k), homeOf(k)
	}
	found, told := map[string]bool{}, map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if isSupport(name) {
			continue
		}
		for _, f := range sources(t, p) {
			for _, at := range literals(t, f.tree) {
				home, kind := homes[at.text]
				switch {
				case !kind, name != home && homonyms[at.text] != "":
				case name == home:
					found[at.text] = true
				case tellers[name] != "" && strings.HasPrefix(home, "policies/"):
					told[name] = true
				default:
					t.Errorf("%s names %s, which only %s knows; ask the Catalog", at.place, at.text, home)
				}
			}
		}
	}
	for word, home := range homes {
		if !found[word] {
			t.Errorf("%s does not name %s", home, word)
		}
	}
	for name := range tellers {
		if !told[name] {
			t.Errorf("%s names no kind: take the exception away", name)
		}
	}
}

// TestKindsAreImportedAtHome: nobody but the list of all kinds imports one.
func TestKindsAreImportedAtHome(t *testing.T) {
	t.Parallel()
	importedOnlyBy(t, importers, "ask the kinds for an interface", func(name, dep string) bool {
		return name != "policies/all" && slices.ContainsFunc(world.Kinds(), func(k *policies.Kind) bool { return dep == homeOf(k) })
	})
}

// homeOf is the folder of a kind.
func homeOf(k *policies.Kind) string {
	return "policies/" + strings.ToLower(strings.TrimPrefix(k.Name, "Mesh"))
}

type literal struct{ text, place string }

// literals are the strings of a file.
func literals(t *testing.T, tree *ast.File) []literal {
	t.Helper()
	var out []literal
	ast.Inspect(tree, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			text, err := strconv.Unquote(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, literal{text, positions.Position(l.Pos()).String()})
		}
		return true
	})
	return out
}
