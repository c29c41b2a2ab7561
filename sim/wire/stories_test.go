package wire_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/golden"
)

// TestStories holds the requests of stories, as they are sent.
func TestStories(t *testing.T) {
	t.Parallel()
	golden.Simulated(t, "../../testdata/stories")
}
