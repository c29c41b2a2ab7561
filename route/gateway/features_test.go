package gateway_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/weftmesh/weft/route/gateway"
)

const (
	page = "../../docs/gateway-api.md"
	mark = "<!-- features: written by the test of this page -->\n"
)

// TestEveryFeatureIsListed: each feature of the release has a line, and no other.
func TestEveryFeatureIsListed(t *testing.T) {
	t.Parallel()
	var want, got []string
	for name := range features.SetsToNamesSet(features.AllFeatures) {
		want = append(want, string(name))
	}
	for _, f := range gateway.Features {
		got = append(got, f.Name)
	}
	slices.Sort(want)
	if !slices.Equal(want, got) {
		t.Errorf("the features are\n%s\nand listed are\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// TestThePageListsThem: the user's page says what the list says; -update writes it.
func TestThePageListsThem(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), mark)
	if !ok {
		t.Fatalf("%s has no line %s", page, mark)
	}
	var b strings.Builder
	b.WriteString(before + mark + "\n| feature | supported | |\n|---|---|---|\n")
	for _, f := range gateway.Features {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.Name, f.Support, f.Why)
	}
	if b.String() == string(text) {
		return
	}
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s lists other features; write it with -update", page)
}
