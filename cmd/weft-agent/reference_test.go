package main

import (
	"io"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/commandpages"
)

// TestReferenceIsFresh holds docs/reference to the commands of weft-agent.
func TestReferenceIsFresh(t *testing.T) {
	for _, name := range commandpages.Environment {
		t.Setenv(name, "")
	}
	commandpages.Fresh(t, "../../docs/reference", newRoot(strings.NewReader(""), io.Discard))
}
