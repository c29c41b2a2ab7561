package identity_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/golden"
	"github.com/weftmesh/weft/internal/resolvetest"
)

// TestCases holds cases about identities.
func TestCases(t *testing.T) {
	t.Parallel()
	resolvetest.Stage(t, "identity")
}

// TestStories holds all that stories say of whole worlds, which goes through this stage.
func TestStories(t *testing.T) {
	t.Parallel()
	golden.Answered(t, "../../testdata/stories")
}
