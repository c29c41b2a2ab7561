// Command mutate plants small defects in all packages and counts how many of
// them the tests catch.
//
// The defects are the same for the same seeds and sources, and a change of one
// function leaves those of the others. One that does not
// compile is replaced by another. All are built at once, by an overlay, into one
// test program a package, where an environment variable makes one of them
// active; the tree stays untouched. Each program runs once without a defect,
// which tells how long it takes and which places of defects it executes; then
// each defect meets the programs that execute its place, the quickest first,
// until one fails. A defect in a place that no test executes is not caught.
//
// A failure counts when it repeats, and a program that hangs when it does not
// hang without the defect: that a machine is slow catches nothing.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are what the command line says.
type options struct {
	root    string
	count   int
	least   int
	seeds   []uint64
	workers int
	timeout time.Duration
	only    string
	own     bool
}

func main() {
	o := options{root: ".", seeds: []uint64{1, 2}}
	flag.IntVar(&o.count, "n", 100, "defects to plant, of each seed")
	flag.IntVar(&o.least, "least", 97, "defects that must be caught, of 100")
	flag.Func("seed", "which defects; several with commas (default 1,2)", func(text string) (err error) {
		o.seeds, err = seeds(text)
		return err
	})
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "test programs that run at once")
	flag.DurationVar(&o.timeout, "timeout", time.Minute, "time for the tests of one package, besides ten times what they take without a defect")
	flag.StringVar(&o.only, "only", "", "only defects whose place contains this text")
	flag.BoolVar(&o.own, "own", false, "let a defect meet the tests of its own package alone: whether a package defends its own promises")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) error {
	began := time.Now()
	t, defects, err := plan(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d defects\n", len(defects))
	r := &runner{out: out, workers: o.workers, timeout: o.timeout, own: o.own, defects: defects}
	if r.dir, err = os.MkdirTemp("", "mutate-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	if err := os.Chmod(r.dir, 0o711); err != nil { // processes of other users write what they reach
		return err
	}
	if r.programs, err = t.build(ctx, r.dir, defects, o.own); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d test programs built, %s\n", len(r.programs), time.Since(began).Round(time.Second))
	if err := r.plain(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "they pass without a defect, %s\n", time.Since(began).Round(time.Second))
	if err := r.all(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nafter %s:\n", time.Since(began).Round(time.Second))
	return r.report(o.seeds, o.least)
}

// plan chooses and numbers the defects of all seeds.
func plan(ctx context.Context, o options) (*tree, []defect, error) {
	t, err := load(ctx, o.root)
	if err != nil {
		return nil, nil, err
	}
	all, err := t.candidates(o.only)
	if err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		return nil, nil, errors.New("nowhere to plant a defect; run it at the root of the repository")
	}
	var defects []defect
	for _, seed := range o.seeds {
		some, err := t.choose(ctx, shuffled(all, seed), o.count)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range some {
			d.seed, d.number = seed, len(defects)+1
			defects = append(defects, d)
		}
	}
	return t, defects, nil
}

// shuffled are the defects in an order that is as good as random. It depends on
// each one alone, so that a change of one function leaves the others' defects as
// they were, and a run after it is about the same.
func shuffled(all []defect, seed uint64) []defect {
	order := func(d defect) [sha256.Size]byte { return sha256.Sum256(fmt.Append(nil, seed, " ", d.id)) }
	out := slices.Clone(all)
	slices.SortFunc(out, func(a, b defect) int {
		x, y := order(a), order(b)
		return bytes.Compare(x[:], y[:])
	})
	return out
}

// seeds are numbers with commas between them.
func seeds(text string) ([]uint64, error) {
	var out []uint64
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number; write -seed 1 or -seed 1,2", part)
		}
		out = append(out, n)
	}
	return out, nil
}
