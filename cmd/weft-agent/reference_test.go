package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/internal/commandpages"
)

// TestReferenceIsFresh holds docs/reference to the commands of weft-agent. `make generate` writes
// its pages.
func TestReferenceIsFresh(t *testing.T) {
	commandpages.Fresh(t, "../../docs/reference", func() *cobra.Command { return newRoot(strings.NewReader(""), io.Discard) })
}
