package reachability_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/resolvetest"
)

// TestCases holds cases about what dataplanes call.
func TestCases(t *testing.T) {
	t.Parallel()
	resolvetest.Cases(t, "testdata/*.txtar", resolvetest.Dump)
}
