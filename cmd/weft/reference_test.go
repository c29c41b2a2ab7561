package main

import (
	"testing"

	"github.com/weftmesh/weft/internal/commandpages"
)

// TestReferenceIsFresh holds docs/reference to the commands that there are: a page and a man
// page for each. `go test ./cmd/weft ./cmd/weft-agent -run Reference -update` writes them.
func TestReferenceIsFresh(t *testing.T) {
	for _, name := range commandpages.Environment {
		t.Setenv(name, "")
	}
	commandpages.Fresh(t, root+"/docs/reference", newRoot(&app{}))
}
