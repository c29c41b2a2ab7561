package derive

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
)

// run asks a derivation. One that fails with the value that was there before is asked
// again without: a failure, too, is what it would be in a graph built from nothing.
func (u *update) run(c *collection, was *cell) (state any, reads []id) {
	state, r := u.ask(c, was, was.state)
	if !isValue(state) && r.reused {
		state, r = u.ask(c, was, nil)
	}
	for _, n := range r.absent {
		r.known = append(r.known, u.number(n))
	}
	u.buffer = r.known[:0]
	if slices.Equal(r.known, was.reads) {
		return state, was.reads
	}
	return state, slices.Clone(r.known)
}

func (u *update) ask(c *collection, was *cell, before any) (state any, r *Reader) {
	r = &Reader{update: u, by: c, was: was.reads, known: u.buffer[:0], before: before}
	if f := protect(func() { state = c.derive(r, was.key) }); f != nil {
		state = f
	}
	r.closed = true
	return state, r
}

// protect calls f, and says why it could not.
func protect(f func()) (failed *Failed) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case misuse:
			panic(string(p))
		case *Failed:
			failed = p
		default:
			failed = &Failed{fmt.Sprint(p) + where()}
		}
	}()
	f()
	return nil
}

// where says, while a panic is on its way up, which function panicked.
func where() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" in %s (%s:%d)", path.Base(f.Function), path.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}
