package timeline_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/golden"
)

// TestStories holds attempts and bounds of time in stories.
func TestStories(t *testing.T) {
	t.Parallel()
	golden.Simulated(t, "../../testdata/stories")
}
