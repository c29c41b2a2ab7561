package impact

import (
	"slices"
	"testing"
)

// TestADataplaneArrivesOnce: a changed dataplane that has a place by several entries is told once there, by the first.
func TestADataplaneArrivesOnce(t *testing.T) {
	t.Parallel()
	var a arrivals
	for _, x := range [][2]int32{{3, 0}, {3, 1}, {5, 0}, {5, 2}, {5, 4}, {8, 1}} {
		a.add(x[0], x[1], Placement{})
	}
	if !slices.Equal(a.planes, []int32{3, 5, 8}) || !slices.Equal(a.numbers, []int32{0, 0, 1}) || len(a.places) != 3 {
		t.Errorf("dataplanes %v with numbers %v at %d places", a.planes, a.numbers, len(a.places))
	}
}
