package differential

import (
	"testing"

	"github.com/weftmesh/weft/sim/permission"
)

// TestIdentitiesAgree: who may call whom, by requests and by connections, in worlds of two
// trust domains, all modes and all route languages, holds for WEFT_DIFF_PAIRS random pairs
// of seed WEFT_DIFF_SEED.
func TestIdentitiesAgree(t *testing.T) {
	t.Parallel()
	pairs := int(number(t, "WEFT_DIFF_PAIRS", usual))
	grid := NewGrid()
	reports := Run(t, byIdentities, number(t, "WEFT_DIFF_SEED", 1), pairs, grid)
	for _, r := range reports {
		t.Errorf("a disagreement; keep it in testdata once it is understood:\n%s", r)
	}
	t.Logf("%d pairs, of those that were judged %v", pairs, grid.decided)
	if least := pairs / 20; len(reports) == 0 && (grid.decided[permission.Allow] < least || grid.decided[permission.Deny] < least) {
		t.Errorf("these worlds tell little apart: %v", grid.decided)
	}
}
