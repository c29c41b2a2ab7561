package terminal_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/golden"
)

// TestStories holds all that stories say of whole worlds, which this package says.
func TestStories(t *testing.T) {
	t.Parallel()
	golden.Answered(t, "../../testdata/stories")
}
