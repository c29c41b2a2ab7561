package index_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/golden"
	"github.com/weftmesh/weft/internal/resolvetest"
)

// TestCases holds cases about indexes of targetRefs and the order of precedence.
func TestCases(t *testing.T) {
	t.Parallel()
	resolvetest.Stage(t, "index")
}

// TestStories holds all that stories say of whole worlds, which goes through this stage.
func TestStories(t *testing.T) {
	t.Parallel()
	golden.Answered(t, "../../testdata/stories")
}
