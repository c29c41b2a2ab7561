// Command mutate plants small defects in all packages and counts how many of
// them the tests catch.
//
// The defects are the same for the same seed and sources. Each is compiled and
// tested by an overlay, so the tree stays untouched. A defect that does not
// compile is replaced by another; a time-out counts as caught.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	count := flag.Int("n", 100, "defects to plant")
	least := flag.Int("least", 97, "defects that must be caught, of 100")
	seed := flag.Uint64("seed", 1, "which defects")
	workers := flag.Int("workers", 2, "defects tested at once")
	limit := flag.Duration("timeout", 3*time.Minute, "time for the tests of one package")
	only := flag.String("only", "", "only defects whose place contains this text")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *count, *least, *seed, *workers, *limit, *only); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, count, least int, seed uint64, workers int, limit time.Duration, only string) error {
	where, err := guards()
	if err != nil {
		return err
	}
	all, err := candidates(where, only)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("nowhere to plant a defect; run it at the root of the repository")
	}
	rand.New(rand.NewPCG(seed, seed)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	fmt.Printf("%d places for defects, seed %d\n", len(all), seed)
	if err := sound(ctx, where, limit); err != nil {
		return err
	}
	r := &runner{all: all, want: count, limit: limit}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() { r.work(ctx) })
	}
	group.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return r.report(least)
}

// sound makes sure that the tests pass without a defect.
func sound(ctx context.Context, where []guard, limit time.Duration) error {
	var packages []string
	for _, g := range where {
		for _, t := range g.tests {
			if !slices.Contains(packages, t) {
				packages = append(packages, t)
			}
		}
	}
	for _, p := range packages {
		if out, err := test(ctx, "", p, limit); err != nil {
			return fmt.Errorf("%s fails without any defect:\n%s", p, out)
		}
	}
	return nil
}

// runner hands out defects until enough of them were tested.
type runner struct {
	limit time.Duration

	mu       sync.Mutex
	all      []defect
	want     int
	tested   int
	caught   int
	survived []defect
}

func (r *runner) next() (defect, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 || r.want == 0 {
		return defect{}, false
	}
	d := r.all[0]
	r.all = r.all[1:]
	r.want--
	return d, true
}

func (r *runner) work(ctx context.Context) {
	for ctx.Err() == nil {
		d, ok := r.next()
		if !ok {
			return
		}
		outcome, by := d.try(ctx, r.limit)
		r.mu.Lock()
		switch outcome {
		case invalid:
			r.want++ // another one takes its place
		case killed:
			r.tested++
			r.caught++
		case alive:
			r.tested++
			r.survived = append(r.survived, d)
		}
		if outcome != invalid && ctx.Err() == nil {
			fmt.Printf("%3d %-8s %s  %s\n", r.tested, outcome, d, by)
		}
		r.mu.Unlock()
	}
}

func (r *runner) report(least int) error {
	fmt.Printf("\n%d of %d defects caught\n", r.caught, r.tested)
	slices.SortFunc(r.survived, func(a, b defect) int { return strings.Compare(a.String(), b.String()) })
	for _, d := range r.survived {
		fmt.Println("  not caught:", d)
	}
	if r.tested == 0 || r.caught*100 < least*r.tested {
		return fmt.Errorf("fewer than %d of 100 are caught", least)
	}
	return nil
}
