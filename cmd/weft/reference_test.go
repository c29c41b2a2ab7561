package main

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/internal/commandpages"
)

// TestReferenceIsFresh holds docs/reference to the commands that there are: a page and a man
// page for each. `make generate` writes them.
func TestReferenceIsFresh(t *testing.T) {
	commandpages.Fresh(t, root+"/docs/reference", func() *cobra.Command { return newRoot(&app{}) })
}
