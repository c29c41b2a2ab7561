package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/policies/all"
)

func TestReferencePagesAreFresh(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "docs", "policies")
	for name, want := range pages(all.Kinds, world.Catalog()) {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is stale; run go generate ./policies/all (-want +got):\n%s", name, diff)
		}
	}
}

func TestEveryFieldIsExplained(t *testing.T) {
	t.Parallel()
	for _, k := range all.Kinds {
		for _, leaf := range k.Schema.Leaves {
			if k.Docs[leaf.Path] == "" {
				t.Errorf("%s: %s has no comment", k.Name, leaf.Path)
			}
		}
	}
}
