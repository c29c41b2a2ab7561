package tables_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/resolvetest"
)

// TestCases holds cases about the route tables of outbounds.
func TestCases(t *testing.T) {
	t.Parallel()
	resolvetest.Cases(t, "testdata/*.txtar", resolvetest.Dump)
}
