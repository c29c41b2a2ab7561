package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weftmesh/weft/hack/mutate/planted"
)

// plantedSource is the package that the woven files import.
//
//go:embed planted/planted.go
var plantedSource []byte

// program is the test program of a package, with all defects built in.
type program struct {
	pkg     string // from the root on
	dir     string // where tests run
	file    string
	time    time.Duration // without a defect
	reached map[int]bool  // the defects whose places it executes
}

// build writes the woven files into dir and builds the test programs that hold one of them; with own those of the
// packages of the defects alone.
func (t *tree) build(ctx context.Context, dir string, defects []defect, own bool) ([]*program, error) {
	overlay, err := t.overlay(dir, defects)
	if err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for _, d := range defects {
		changed[d.pkg.ImportPath] = true
	}
	var out []*program
	programs := t.tests(changed)
	if own {
		programs = slices.DeleteFunc(programs, func(p listed) bool { return !changed[p.ImportPath] })
	}
	for i, rest := 0, programs; len(rest) > 0; i++ {
		// One build takes packages whose programs have different names.
		var later []listed
		into := filepath.Join(dir, fmt.Sprint("programs", i)) + string(filepath.Separator)
		args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", into}
		names := map[string]bool{}
		for _, p := range rest {
			name := path.Base(p.ImportPath) + ".test"
			if names[name] {
				later = append(later, p)
				continue
			}
			names[name] = true
			args = append(args, p.ImportPath)
			out = append(out, &program{pkg: t.folder(p), dir: p.Dir, file: into + name, reached: map[int]bool{}})
		}
		rest = later
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = t.root
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go test -c: %w\n%s", err, text)
		}
	}
	return out, nil
}

// overlay puts the woven files into the places of those that get defects.
func (t *tree) overlay(dir string, defects []defect) (string, error) {
	root, err := filepath.Abs(t.root)
	if err != nil {
		return "", err
	}
	files := map[string][]defect{}
	for _, d := range defects {
		at := filepath.Join(d.pkg.Dir, path.Base(d.file))
		files[at] = append(files[at], d)
	}
	const below = "hack/mutate/planted"
	woven := map[string][]byte{filepath.Join(root, below, "planted.go"): plantedSource}
	for at, defects := range files {
		text, err := os.ReadFile(at)
		if err != nil {
			return "", err
		}
		if woven[at], err = weave(text, defects, path.Join(t.module, below)); err != nil {
			return "", err
		}
	}
	replace := map[string]string{}
	for at, text := range woven {
		replace[at] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[at], text, 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "overlay.json")
	return out, os.WriteFile(out, list, 0o600)
}

// result is how a test program ended.
type result struct {
	failed, hangs bool
	tests         []string // the tests that failed, where it says so
	output        []byte
	took          time.Duration
}

func (r result) passed() bool { return !r.failed && !r.hangs }

var failing = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// run runs the program, or some of its tests, with the defect that is chosen.
func (p *program) run(ctx context.Context, defect string, limit time.Duration, tests ...string) (result, error) {
	args := []string{"-test.failfast", "-test.timeout", limit.String()}
	if len(tests) > 0 {
		args = append(args, "-test.run", "^("+strings.Join(tests, "|")+")$")
	}
	held, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(held, p.file, args...)
	cmd.Dir = p.dir
	// A defect that random pairs can show is shown by a few hundred of them.
	cmd.Env = append(os.Environ(), "WEFT_DIFF_PAIRS=400", planted.Variable+"="+defect)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	began := time.Now()
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the tests started and left
	}
	out := result{output: output.Bytes(), took: time.Since(began)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case held.Err() != nil || bytes.Contains(out.output, []byte("panic: test timed out after")):
		out.hangs = true
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		out.failed = true
	case err != nil:
		return out, err
	}
	for _, m := range failing.FindAllSubmatch(out.output, -1) {
		out.tests = append(out.tests, string(m[1]))
	}
	return out, nil
}

// reachedBy are the programs that execute the place of the defect, the quickest first.
func (d defect) reachedBy(all []*program) []*program {
	var out []*program
	for _, p := range all {
		if p.reached[d.number] {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *program) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.pkg, b.pkg)) })
	return out
}
