package resolve_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// TestKept: what is derived once stays, also where it is a panic, whoever asks at the
// same time; without a place to keep it, it is derived for each.
func TestKept(t *testing.T) {
	t.Parallel()
	var derived atomic.Int32
	derive := func() any { return derived.Add(1) }
	for name, c := range map[string]struct {
		kept *effective.Cache
		want int32
	}{"kept": {effective.NewCache(), 1}, "not kept": {nil, 8}} {
		derived.Store(0)
		if v, ok := c.kept.Rendered().Made(); ok {
			t.Errorf("%s: %v is known before anyone asked", name, v)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { c.kept.Rendered().Do(derive) })
		}
		all.Wait()
		if n := derived.Load(); n != c.want {
			t.Errorf("%s: derived %d times, want %d", name, n, c.want)
		}
		if v, ok := c.kept.Rendered().Made(); ok != (c.kept != nil) || ok && v != int32(1) {
			t.Errorf("%s: known is %v, %t", name, v, ok)
		}
		if _, ok := c.kept.Listeners().Made(); ok {
			t.Errorf("%s: what one stage derived is known to another", name)
		}
	}

	failing := effective.NewCache().Rendered()
	for range 2 {
		func() {
			defer func() {
				if p := recover(); p != "a bug" {
					t.Errorf("panics with %v, want that of the first time", p)
				}
			}()
			first := "a bug"
			failing.Do(func() any { defer func() { first = "another" }(); panic(first) })
		}()
	}
	if _, ok := failing.Made(); ok {
		t.Error("what could not be derived is known")
	}
}

// What is found out about a model is found out once, and not kept of one who left.
func TestKnownOnce(t *testing.T) {
	t.Parallel()
	m, _ := resolve.Compile(snapshot.New(0), nil, nil)
	asked := 0
	ask := func(gone func() bool) int {
		q := m.Reader(gone)
		return resolve.Cached(q, "key", func() int {
			asked++
			for range 100 {
				q.Visit()
			}
			return asked
		})
	}
	if ask(func() bool { return true }) != 1 || ask(nil) != 2 || ask(nil) != 2 || ask(func() bool { return true }) != 2 {
		t.Errorf("asked %d times", asked)
	}
}
