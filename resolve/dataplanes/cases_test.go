package dataplanes_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/resolvetest"
)

// TestCases holds cases about inbounds.
func TestCases(t *testing.T) {
	t.Parallel()
	resolvetest.Cases(t, "testdata/*.txtar", resolvetest.Dump)
}
