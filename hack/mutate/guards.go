package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// guard is a package with code to damage, and the packages whose tests must
// notice: its own, then those that import it, then all others whose tests it is
// built into; in each group those with the fewest packages of ours below them first.
type guard struct {
	dir   string
	tests []string
}

// unguarded are the places without defects: tools, support of tests, and the
// commands, which the tests start as programs.
var unguarded = []string{"hack/", "internal/", "cmd/", "policies/internal/", "store/storetest/"}

// listed is what `go list` says of a package or of its test program.
type listed struct {
	ImportPath, ForTest    string
	GoFiles, Imports, Deps []string
	Module                 struct{ Path string }
}

// guards finds the packages of the module below the working directory.
func guards() ([]guard, error) {
	packages, err := list()
	if err != nil {
		return nil, err
	}
	var out []guard
	for _, p := range packages {
		dir, ours := strings.CutPrefix(p.ImportPath, p.Module.Path+"/")
		plain := ours && p.ForTest == "" && !strings.HasSuffix(p.ImportPath, ".test") && len(p.GoFiles) > 0
		skip := slices.ContainsFunc(unguarded, func(u string) bool { return strings.HasPrefix(dir+"/", u) || strings.Contains(dir+"/", "/"+u) })
		if !plain || skip {
			continue
		}
		if g := (guard{dir, testsOf(p, packages)}); len(g.tests) > 0 {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b guard) int { return cmp.Compare(a.dir, b.dir) })
	return out, nil
}

// testsOf are the packages whose tests p is built into, the nearest first.
func testsOf(p listed, all []listed) []string {
	type program struct {
		pkg         string
		near, below int
	}
	direct := map[string]bool{}
	for _, t := range all {
		if slices.ContainsFunc(t.Imports, func(i string) bool { i, _, _ = strings.Cut(i, " "); return i == p.ImportPath }) {
			direct[cmp.Or(t.ForTest, t.ImportPath)] = true
		}
	}
	var found []program
	for _, t := range all {
		name, isTest := strings.CutSuffix(t.ImportPath, ".test")
		if !isTest {
			continue
		}
		holds, below := false, 0
		for _, d := range t.Deps {
			d, _, _ = strings.Cut(d, " ")
			holds = holds || d == p.ImportPath
			if strings.HasPrefix(d, p.Module.Path) {
				below++
			}
		}
		near := 2
		if name == p.ImportPath {
			near = 0
		} else if direct[name] {
			near = 1
		}
		if holds {
			found = append(found, program{"./" + strings.TrimPrefix(strings.TrimPrefix(name, p.Module.Path), "/"), near, below})
		}
	}
	slices.SortFunc(found, func(a, b program) int {
		return cmp.Or(cmp.Compare(a.near, b.near), cmp.Compare(a.below, b.below), cmp.Compare(a.pkg, b.pkg))
	})
	out := make([]string, len(found))
	for i, f := range found {
		out[i] = f.pkg
	}
	return out
}

// list asks for all packages and their test programs.
func list() ([]listed, error) {
	out, err := exec.Command("go", "list", "-test", "-json=ImportPath,ForTest,GoFiles,Imports,Deps,Module", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
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
