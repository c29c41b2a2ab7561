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

// TestEverybodyHasATurn: of more writes than there is room for all come in a few rounds, also
// where the first fail again and again.
func TestEverybodyHasATurn(t *testing.T) {
	t.Parallel()
	all, seen, last := writesOf(500), map[api.Ref]int{}, api.Ref{}
	for range 5 {
		some := inTurn(all, last, 200)
		last = some[len(some)-1].ref
		for _, w := range some {
			seen[w.ref]++
		}
	}
	for _, w := range all {
		if seen[w.ref] != 2 {
			t.Fatalf("%s had %d turns in two rounds", w.ref, seen[w.ref])
		}
	}
	if got := inTurn(all[:3], last, 200); len(got) != 3 {
		t.Errorf("%d of 3", len(got))
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
