package process

import "testing"

// Memory is given back once after a burst, when it is calm, and not for the little
// that a calm control plane allocates.
func TestMemoryIsGivenBackAfterABurst(t *testing.T) {
	t.Parallel()
	const live, mib = 128 << 20, 1 << 20
	var b burst
	total := uint64(0)
	for i, step := range []struct {
		allocates uint64
		over      bool
	}{
		{80 * mib, false}, // it begins
		{60 * mib, false}, // goes on
		{0, true},         // and is over
		{0, false},        // once
		{mib / 4, false},
		{80 * mib, false}, // another one
		{mib / 4, true},
		{20 * mib, false}, // too little for a collection
		{0, false},
		{20 * mib, false},
		{24 * mib, false}, // but it adds up
		{0, true},
		{32 * mib, false}, // at once
		{0, true},
		{31 * mib, false},
		{28 * mib, false},
		{5*mib - 1, false},
		{0, false}, // a byte too little
		{littleByLittle, false},
		{0, true},
		{31 * mib, false},
		{28 * mib, false},
		{littleByLittle - 1, false}, // one write after the other
		{littleByLittle - 1, false},
		{0, false},
	} {
		total += step.allocates
		if got := b.over(total, live); got != step.over {
			t.Errorf("step %d: over is %v", i, got)
		}
	}
}

// What is asked of the runtime is there.
func TestTheRuntimeTellsOfItsMemory(t *testing.T) {
	t.Parallel()
	before := allocated()
	kept := make([]byte, 1<<20)
	if now := allocated(); now < before+uint64(len(kept)) {
		t.Errorf("%d bytes were allocated, then %d", before, now)
	}
	_ = live() // panics where the runtime does not know it
}

// A small heap grows as Go's own default says, a large one by a third, and between them
// by the same number of bytes.
func TestALargeHeapGrowsLess(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for live, want := range map[uint64]int{0: 100, mib: 100, 48 * mib: 100, 64 * mib: 75, 96 * mib: 50, 128 * mib: 37, 4096 * mib: 33} {
		if got := growth(live); got != want {
			t.Errorf("of %d MiB that live the heap grows by %d %%, not %d", live/mib, got, want)
		}
	}
}
