package limit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/xds/server/limit"
)

// TestTurnsGoRound: who asks a thousand times waits longer, not who asks once.
func TestTurnsGoRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := limit.NewFairQueue(4, 3, 1000)
		var order []string
		var mu sync.Mutex
		ask := func(who string) {
			done, err := turns.Take(t.Context(), who)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, who)
			mu.Unlock()
			time.Sleep(time.Second)
			done()
		}
		turnsSoFar := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(order)
		}
		for range 100 {
			go ask("many")
		}
		synctest.Wait()
		if n := len(turnsSoFar()); n != 3 {
			t.Errorf("one caller has %d of 4 places", n)
		}
		go ask("few")
		go ask("few")
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond)
		had := turnsSoFar()
		if at := slices.Index(had, "few"); at != 3 || slices.Index(had[4:], "few") > 3 {
			t.Errorf("who asked twice waited for %d others: %v", at, had)
		}
		time.Sleep(time.Minute)
		if n := len(turnsSoFar()); n != 102 {
			t.Errorf("%d had a turn", n)
		}
	})
}

// TestQueuesHaveAnEnd: for each caller, and for who gives up waiting.
func TestQueuesHaveAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := limit.NewFairQueue(1, 1, 2)
		done, err := turns.Take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		waiting, stop := context.WithCancel(t.Context())
		var gone sync.WaitGroup
		for range 2 {
			gone.Go(func() {
				if _, err := turns.Take(waiting, "a"); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if _, err := turns.Take(t.Context(), "a"); !errors.Is(err, limit.ErrQueue) {
			t.Errorf("a third waits: %v", err)
		}
		stop()
		gone.Wait()
		done()
		done() // says nothing the second time
		for range 3 {
			done, err := turns.Take(t.Context(), "b")
			if err != nil {
				t.Fatal(err)
			}
			done()
		}
	})
}

// TestTurnsAreGivenBack: whatever callers do, no more are at work than there are places, and
// at the end all places are free.
func TestTurnsAreGivenBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		places := rapid.IntRange(1, 5).Draw(r, "places")
		steps := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) [3]int {
			return [3]int{rapid.IntRange(0, 3).Draw(r, "caller"), rapid.IntRange(0, 5).Draw(r, "work"), rapid.IntRange(0, 5).Draw(r, "patience")}
		}), 0, 60).Draw(r, "steps")
		var wrong []string
		synctest.Test(t, func(t *testing.T) {
			turns, busy := limit.NewFairQueue(places, max(1, places-1), 100), 0
			var mu sync.Mutex
			for _, s := range steps {
				go func() {
					ctx, stop := context.WithTimeout(t.Context(), time.Duration(s[2])*time.Second)
					defer stop()
					done, err := turns.Take(ctx, fmt.Sprint(s[0]))
					if err != nil {
						return
					}
					mu.Lock()
					if busy++; busy > places {
						wrong = append(wrong, fmt.Sprintf("%d at work in %d places", busy, places))
					}
					mu.Unlock()
					time.Sleep(time.Duration(s[1]) * time.Second)
					mu.Lock()
					busy--
					mu.Unlock()
					done()
				}()
			}
			time.Sleep(time.Hour)
			for i := range places { // one caller alone has not all of them
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				if _, err := turns.Take(ctx, fmt.Sprint("last", i)); err != nil {
					wrong = append(wrong, "a place was not given back")
				}
				stop()
			}
		})
		if len(wrong) > 0 {
			r.Fatal(strings.Join(wrong, "; "))
		}
	})
}
