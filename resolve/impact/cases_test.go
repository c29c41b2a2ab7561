package impact_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/golden"
	"github.com/weftmesh/weft/internal/resolvetest"
)

// TestCases holds cases about where objects act.
func TestCases(t *testing.T) {
	t.Parallel()
	resolvetest.Stage(t, "impact")
}

// TestStories holds all that stories say of whole worlds, which goes through this stage.
func TestStories(t *testing.T) {
	t.Parallel()
	golden.Answered(t, "../../testdata/stories")
}
