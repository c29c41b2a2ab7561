package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// tree is the module whose tests are put to the test.
type tree struct {
	root   string
	module string
	all    []listed
	export map[string]string // by import path, the file of what a package exports
}

// listed is what `go list` says of a package or of its test program.
type listed struct {
	ImportPath, Dir, ForTest, Export string
	GoFiles, Deps                    []string
	Module                           struct{ Path string }
}

// unguarded are the places without defects: tools, support of tests, and the
// commands, which the tests start as programs.
var unguarded = []string{"hack/", "internal/", "cmd/", "policies/internal/"}

// load lists the packages of the module at root, their test programs, and what
// the packages use.
func load(ctx context.Context, root string) (*tree, error) {
	t := &tree{root: root, export: map[string]string{}}
	ours, err := t.list(ctx, "-test")
	if err != nil {
		return nil, err
	}
	used, err := t.list(ctx, "-deps", "-export")
	if err != nil {
		return nil, err
	}
	for _, p := range used {
		t.export[p.ImportPath] = p.Export
	}
	for _, p := range ours {
		t.module = p.Module.Path
	}
	slices.SortFunc(ours, func(a, b listed) int { return cmp.Compare(a.ImportPath, b.ImportPath) })
	t.all = ours
	return t, nil
}

func (t *tree) list(ctx context.Context, flags ...string) ([]listed, error) {
	args := append([]string{"list", "-json=ImportPath,Dir,ForTest,Export,GoFiles,Deps,Module"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./...")...)
	cmd.Dir = t.root
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, failure.Bytes())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// places are the packages that get defects.
func (t *tree) places() []listed {
	var out []listed
	for _, p := range t.all {
		dir := t.folder(p) + "/"
		skip := slices.ContainsFunc(unguarded, func(u string) bool { return strings.HasPrefix(dir, u) || strings.Contains(dir, "/"+u) })
		if !skip && p.ForTest == "" && !strings.HasSuffix(p.ImportPath, ".test") && len(p.GoFiles) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// folder is where a package is, from the root on.
func (t *tree) folder(p listed) string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, t.module), "/"), ".")
}

// tests are the packages with tests into which one of the changed packages is built.
func (t *tree) tests(changed map[string]bool) []listed {
	var out []listed
	for _, p := range t.all {
		name, isTest := strings.CutSuffix(p.ImportPath, ".test")
		if isTest && slices.ContainsFunc(p.Deps, func(d string) bool { d, _, _ = strings.Cut(d, " "); return changed[d] }) {
			i := slices.IndexFunc(t.all, func(l listed) bool { return l.ImportPath == name })
			out = append(out, t.all[i])
		}
	}
	return out
}
