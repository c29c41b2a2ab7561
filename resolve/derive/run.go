package derive

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
)

// run asks a derivation.
func (u *update) run(c *collection, was *cell) (state any, reads []id) {
	r := &Reader{update: u, by: c, was: was.reads, known: u.buffer[:0]}
	if f := protect(func() { state = c.derive(r, was.key) }); f != nil {
		state = f
	}
	r.closed = true
	for _, n := range r.absent {
		r.known = append(r.known, u.number(n))
	}
	u.buffer = r.known[:0]
	if slices.Equal(r.known, was.reads) {
		return state, was.reads
	}
	return state, slices.Clone(r.known)
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
