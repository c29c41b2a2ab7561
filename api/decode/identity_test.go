package decode_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/corpus"
)

// TestIdentityDocuments: what is reported of MeshIdentity and MeshTrust (spec/identity.md 1.2,
// 1.3), and no word of what may be a key.
func TestIdentityDocuments(t *testing.T) {
	t.Parallel()
	corpus.Check(t, catalog, "testdata/identity/*.txtar")
	text, err := os.ReadFile("testdata/identity/documents.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if (strings.HasPrefix(line, "error ") || strings.HasPrefix(line, "warning ")) && strings.Contains(line, "Canary") {
			t.Errorf("a message tells a secret: %s", line)
		}
	}
}

// TestRedactedIdentity: who may not know secrets sees none, and what was shown is not taken
// for one.
func TestRedactedIdentity(t *testing.T) {
	t.Parallel()
	const document = "type: MeshIdentity\nmesh: default\nname: a\nspec: {selector: {}, provider: {type: Bundled, bundled: {ca: {" +
		"certificate: {type: InsecureInline, insecureInline: {value: public}}, privateKey: {type: InsecureInline, insecureInline: {value: Canary0}}}}}}\n"
	objects, err := decode.Objects(catalog, "f", []byte(document))
	if api.Refuses(err) || len(objects) != 1 {
		t.Fatal(err)
	}
	shown, err := decode.PrintYAML(catalog, objects[0].Redacted())
	if err != nil || strings.Contains(string(shown), "Canary0") || !strings.Contains(string(shown), "public") || !strings.Contains(string(shown), api.Hidden) {
		t.Errorf("%s, %v", shown, err)
	}
	if _, err := decode.Objects(catalog, "f", shown); !api.Refuses(err) {
		t.Errorf("the place of a secret was taken for one: %v", err)
	}
}

// TestRootsOfTrust: each certificate once, and which bundles have ended.
func TestRootsOfTrust(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/identity/documents.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "-- trust --\n")
	document, _, _ := strings.Cut(rest, "\n---\n")
	objects, err := decode.Objects(catalog, "f", []byte(document))
	if err != nil || len(objects) != 1 {
		t.Fatal(err)
	}
	trust := objects[0].Spec.(*api.MeshTrust)
	if n := len(trust.Roots()); n != 1 {
		t.Errorf("%d roots", n)
	}
	for year, want := range map[int]int{2030: 0, 2130: 1} {
		if got := trust.Ended(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)); len(got) != want {
			t.Errorf("%d: %v", year, got)
		}
	}
}
