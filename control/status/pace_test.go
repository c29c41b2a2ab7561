package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
)

func writesOf(n int) (out []*write) {
	for i := range n {
		out = append(out, &write{ref: api.Ref{Kind: "MeshRetry", Mesh: "default", Name: fmt.Sprintf("r%04d", i)}})
	}
	return out
}

// TestTheRestIsWrittenNext: of what one look found, each is written once, in batches, but for
// what is outdated by its turn.
func TestTheRestIsWrittenNext(t *testing.T) {
	t.Parallel()
	all := writesOf(500)
	r, seen, asked := rest{all, then}, map[api.Ref]int{}, 0
	for batches := 1; !r.empty(); batches++ {
		some, left := r.take(200, func(w *write, looked time.Time) bool {
			asked++
			return !looked.Equal(then) || w == all[250]
		})
		if len(some) > 200 || batches > 3 || left != (batches == 2) {
			t.Fatalf("batch %d has %d, left some %v", batches, len(some), left)
		}
		for _, w := range some {
			seen[w.ref]++
		}
	}
	if len(seen) != 499 || seen[all[250].ref] != 0 || asked != 500 {
		t.Errorf("%d of 499 are written, %d were asked about", len(seen), asked)
	}
	if some, left := r.take(200, nil); len(some) != 0 || left {
		t.Errorf("of nothing there is %v", some)
	}
}

// TestWhatFailsIsTriedSeldom: and what must be written again, as the API server keeps less
// than was sent, likewise; other objects do not wait for it.
func TestWhatFailsIsTriedSeldom(t *testing.T) {
	t.Parallel()
	r := &Reporter{failing: failing{}, wrote: map[api.Ref]wrote{}}
	w := writesOf(1)[0]
	tried, at := 0, then
	for ; at.Before(then.Add(time.Hour)); at = at.Add(time.Second) {
		if r.failing.due(at); r.failing.rests(w.ref, at) {
			continue
		}
		tried++
		r.failing.add(w.ref, at)
	}
	if tried > 20 || tried < 12 {
		t.Errorf("tried %d times in an hour", tried)
	}
	if r.failing.due(at.Add(2*lastPause)) || len(r.failing) > 0 {
		t.Error("it is not forgotten")
	}
	wrote := 0
	for at := then; at.Before(then.Add(time.Hour)); at = at.Add(Pace) {
		if r.failing.rests(w.ref, at) {
			continue
		}
		wrote++
		w.status = map[string]any{"conditions": []any{map[string]any{"type": "Accepted", "lastTransitionTime": at.String()}}}
		r.stands(w, at)
	}
	if wrote > 25 {
		t.Errorf("the same was written %d times in an hour", wrote)
	}
	w.status = map[string]any{"observedGeneration": 2.}
	if r.stands(w, at); r.failing.rests(w.ref, at) {
		t.Error("another status waits for it")
	}
}
