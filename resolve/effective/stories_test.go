package effective_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/golden"
)

// TestStories holds all that stories say of whole worlds, which is read from the types of this package.
func TestStories(t *testing.T) {
	t.Parallel()
	golden.Answered(t, "../../testdata/stories")
}
