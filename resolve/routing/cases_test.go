package routing_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/resolvetest"
)

// TestCases holds cases about what routes and policies say about a destination.
func TestCases(t *testing.T) {
	t.Parallel()
	resolvetest.Cases(t, "testdata/*.txtar", resolvetest.Dump)
}
