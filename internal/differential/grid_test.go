package differential

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/sim/timeline"
)

// TestIdle: an announcement is idle if enough requests had it and all of them came
// out as predicted. What is said of others at the same time does not count.
func TestIdle(t *testing.T) {
	t.Parallel()
	g := NewGrid()
	g.unknown = map[string]*[2]int{
		"rare": {enough - 1, 0}, "idle": {enough, 0}, "right": {enough, 1}, timeline.RetryBudget: {enough, 0}, timeline.NothingAttempted: {enough, 0},
	}
	if got := g.Idle(); !slices.Equal(got, []string{"idle"}) {
		t.Errorf("%q", got)
	}
}
