package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// outcome is what became of a defect.
type outcome string

const (
	caught    outcome = "caught"
	hung      outcome = "hangs" // caught, by a test that does not end
	unreached outcome = "UNREACHED"
	alive     outcome = "ALIVE"
)

// runner tries defects with test programs.
type runner struct {
	out      io.Writer
	dir      string
	workers  int
	timeout  time.Duration
	own      bool // a defect meets the tests of its own package alone
	programs []*program
	defects  []defect

	mu       sync.Mutex
	tried    int
	outcomes map[uint64]map[outcome]int // by seed
	survived map[uint64][]string
}

// parallel calls do with each number below n, until one fails.
func (r *runner) parallel(ctx context.Context, n int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var group sync.WaitGroup
	for range r.workers {
		group.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

// newRecord is an empty file for the places that a program executes. Everybody may write to it: tests start
// processes of other users.
func (r *runner) newRecord(of int) (string, error) {
	record := filepath.Join(r.dir, fmt.Sprintf("reached%d", of))
	if err := os.WriteFile(record, nil, 0o600); err != nil {
		return "", err
	}
	return record, os.Chmod(record, 0o666)
}

// plain makes sure that the tests pass without a defect, and learns from each
// program how long it takes and what it executes. One that fails gets a second
// chance: tests that wait for others may fail where machines are slow.
func (r *runner) plain(ctx context.Context) error {
	return r.parallel(ctx, len(r.programs), func(ctx context.Context, i int) error {
		p := r.programs[i]
		record, err := r.newRecord(i)
		if err != nil {
			return err
		}
		got, err := p.run(ctx, record, 10*r.timeout)
		if err == nil && !got.passed() {
			got, err = p.run(ctx, record, 10*r.timeout)
		}
		if err != nil {
			return err
		}
		if !got.passed() {
			return fmt.Errorf("%s fails without any defect:\n%s", p.pkg, got.output)
		}
		p.time = got.took
		text, err := os.ReadFile(record)
		if err != nil {
			return err
		}
		for number := range strings.FieldsSeq(string(text)) {
			n, err := strconv.Atoi(number)
			if err != nil {
				return fmt.Errorf("%s: %w", record, err)
			}
			p.reached[n] = true
		}
		return nil
	})
}

// all tries all defects.
func (r *runner) all(ctx context.Context) error {
	r.outcomes, r.survived = map[uint64]map[outcome]int{}, map[uint64][]string{}
	for _, d := range r.defects {
		r.outcomes[d.seed] = map[outcome]int{}
	}
	return r.parallel(ctx, len(r.defects), func(ctx context.Context, i int) error {
		d := r.defects[i]
		began := time.Now()
		got, by, err := r.try(ctx, d)
		if err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tried++
		r.outcomes[d.seed][got]++
		line := strings.TrimSpace(fmt.Sprintf("%-9s %s  %s", got, d, by))
		if got == alive || got == unreached {
			r.survived[d.seed] = append(r.survived[d.seed], line)
		}
		fmt.Fprintf(r.out, "%3d %4s %s\n", r.tried, time.Since(began).Round(time.Second), line)
		return nil
	})
}

// try runs the programs that execute the place of the defect until one fails;
// by says which one did, or which ones did not.
func (r *runner) try(ctx context.Context, d defect) (result outcome, by string, err error) {
	var passed []string
	for _, p := range d.reachedBy(r.programs) {
		if r.own && p.pkg != filepath.Dir(d.file) {
			continue
		}
		got, tests, err := r.meet(ctx, d, p)
		if err != nil {
			return "", "", err
		}
		if got != alive {
			return got, strings.Join(append([]string{p.pkg}, tests...), " "), nil
		}
		passed = append(passed, p.pkg)
	}
	if len(passed) == 0 {
		return unreached, "", nil
	}
	return alive, "by " + strings.Join(passed, " "), nil
}

// meet runs one program with the defect. What it finds must be the defect's
// doing: a failure repeats, and without the defect nothing hangs.
func (r *runner) meet(ctx context.Context, d defect, p *program) (outcome, []string, error) {
	number, limit := strconv.Itoa(d.number), r.timeout+10*p.time
	first, err := p.run(ctx, number, limit)
	if err != nil || first.passed() {
		return alive, nil, err
	}
	if first.failed {
		second, err := p.run(ctx, number, limit, first.tests...)
		if err == nil && second.failed {
			return caught, second.tests, nil
		}
		if err != nil || second.passed() {
			return alive, nil, err
		}
	}
	without, err := p.run(ctx, "0", limit/2)
	if err != nil || !without.passed() {
		return alive, nil, err
	}
	return hung, nil, nil
}

// report says what was caught of each seed and what was not.
func (r *runner) report(seeds []uint64, least int) error {
	var few error
	for _, seed := range seeds {
		of := r.outcomes[seed]
		good := of[caught] + of[hung]
		tried := good + of[alive] + of[unreached]
		fmt.Fprintf(r.out, "seed %d: %d of %d defects caught, %d of them because a test hangs\n", seed, good, tried, of[hung])
		slices.Sort(r.survived[seed])
		for _, line := range r.survived[seed] {
			fmt.Fprintln(r.out, "  not caught:", line)
		}
		if tried == 0 || good*100 < least*tried {
			few = fmt.Errorf("fewer than %d of 100 are caught", least)
		}
	}
	return few
}
