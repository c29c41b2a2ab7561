package plan

import (
	"fmt"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/plan/step"
)

// TestNamesBeyondTheBudgetAreCounted: of a list that comes when the names are spent some are told,
// and all others are counted.
func TestNamesBeyondTheBudgetAreCounted(t *testing.T) {
	t.Parallel()
	b := step.NewBudget(15)
	ref := func(i int) api.Ref { return api.Ref{Name: fmt.Sprint("dp-", i)} }
	for _, want := range []struct{ names, told, cut int }{{12, 12, 0}, {20, 10, 10}, {1200, 10, 1190}, {3, 3, 0}} {
		on := b.Name(want.names, ref)
		if len(on.Dataplanes) != want.told || on.Cut != want.cut {
			t.Errorf("of %d names %d are told and %d counted, want %+v", want.names, len(on.Dataplanes), on.Cut, want)
		}
	}
	if on := b.Name(1, ref); on.Dataplane != "dp-0" || on.Cut != 0 {
		t.Errorf("of one name: %+v", on)
	}
}
