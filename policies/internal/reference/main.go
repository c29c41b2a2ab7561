// Command reference writes docs/policies: a page and a JSON schema for each kind
// of policy, from the kind alone. It is run by go generate in policies/all.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/policies/all"
)

func main() {
	if err := run(filepath.Join("..", "..", "docs", "policies")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	files := pages(all.Kinds, world.Catalog())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}
