package plan

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestMovedAreAsFewAsPossible: the rules that moved are all but a longest run that keeps its
// order, found by trying all.
func TestMovedAreAsFewAsPossible(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		order := r.Perm(r.IntN(8))
		was, newer := map[string]rule{}, []string{}
		for _, at := range order {
			was[strconv.Itoa(at)] = rule{at: at}
			newer = append(newer, strconv.Itoa(at))
		}
		got := moved(was, newer)
		best := 0
		for set := range 1 << len(order) {
			last, n := -1, 0
			for i, at := range order {
				if set>>i&1 == 0 {
					continue
				}
				if at < last {
					n = -1
					break
				}
				last, n = at, n+1
			}
			best = max(best, n)
		}
		if len(got) != len(order)-best {
			t.Fatalf("of %v %d moved: %v; want %d", order, len(got), got, len(order)-best)
		}
		last := -1
		for _, at := range order { // those that stand keep their order
			if !got[strconv.Itoa(at)] && at < last {
				t.Fatalf("of %v %v moved, and the others are out of order", order, got)
			} else if !got[strconv.Itoa(at)] {
				last = at
			}
		}
	}
}
