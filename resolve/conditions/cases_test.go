package conditions_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/resolvetest"
)

// TestCases holds cases about references that lead nowhere.
func TestCases(t *testing.T) {
	t.Parallel()
	resolvetest.Cases(t, "testdata/*.txtar", resolvetest.Dump)
}
