package weft_test

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Bounds on one package: its lines that people write, without tests, and how many of
// its files may reach each other, directly or by others. A file reaches another whose
// declarations, fields or methods it uses.
const (
	mostLines     = 2500
	mostComponent = 12
)

// larger are packages that may be larger: they are as they were when the bounds came,
// and split where that is worth that all their callers change.
var larger = map[string]int{"api": 5541, "cmd/weft": 6223, "route/skipper": 5545, "route/contour": 4039, "route/gateway": 4026}

// entangled are packages of which more files reach each other. The numbers may only shrink.
var entangled = map[string]int{
	"api": 20, "cmd/weft": 45, "route/contour": 24, "route/gateway": 27, "route/skipper": 35,
}

func TestRoomsAreSmall(t *testing.T) {
	t.Parallel()
	list, exports := shipped(t)
	imports := importer.ForCompiler(positions, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no export data of " + path)
		}
		return os.Open(exports[path])
	})
	for _, p := range list {
		name := strings.TrimPrefix(p.ImportPath, module)
		files, lines := handWritten(t, p)
		bound := max(mostLines, larger[name])
		if lines > bound {
			t.Errorf("%s has %d lines, more than %d: split it by idea", name, lines, bound)
		}
		bound = max(mostComponent, entangled[name])
		if len(files) <= mostComponent && entangled[name] == 0 {
			continue
		}
		group := component(t, imports, p.ImportPath, files)
		switch {
		case len(group) > bound:
			t.Errorf("%s: %d files reach each other, more than %d: %s", name, len(group), bound, strings.Join(group, " "))
		case len(group) < entangled[name]:
			t.Errorf("%s: only %d files reach each other; lower its number in entangled", name, len(group))
		}
	}
}

// shipped are our packages that programs are made of, and the export data of all packages.
func shipped(t *testing.T) (list []pkg, exports map[string]string) {
	t.Helper()
	for _, p := range packages(t) {
		if name, ours := strings.CutPrefix(p.ImportPath, module); ours && !isSupport(name) {
			list = append(list, p)
		}
	}
	if len(list) < 100 {
		t.Fatalf("only %d packages were looked at", len(list))
	}
	all, _ := listed()
	exports = make(map[string]string, len(all))
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	return list, exports
}

// handWritten are the files of a package, and the lines of those that nobody generates.
func handWritten(t *testing.T, p pkg) (files []*ast.File, lines int) {
	t.Helper()
	for _, f := range sources(t, p) {
		files = append(files, f.tree)
		if !ast.IsGenerated(f.tree) {
			lines += positions.File(f.tree.FileStart).LineCount() - 1
		}
	}
	return files, lines
}

// component are the names of the largest group of files that reach each other.
func component(t *testing.T, imports types.Importer, path string, files []*ast.File) []string {
	t.Helper()
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: imports}
	if _, err := conf.Check(path, positions, files, info); err != nil {
		t.Fatal(err)
	}
	of := func(pos token.Pos) string { return filepath.Base(positions.Position(pos).Filename) }
	uses := map[string]map[string]bool{}
	for id, obj := range info.Uses {
		from := of(id.Pos())
		if uses[from] == nil {
			uses[from] = map[string]bool{}
		}
		if obj.Pkg() != nil && obj.Pkg().Path() == path && obj.Pos().IsValid() {
			uses[from][of(obj.Pos())] = true
		}
	}
	reached := map[string]map[string]bool{}
	for from := range uses {
		reached[from] = map[string]bool{}
		visit(uses, from, reached[from])
	}
	var largest []string
	for from := range uses {
		var group []string
		for to := range reached[from] {
			if reached[to][from] {
				group = append(group, to)
			}
		}
		if len(group) > len(largest) {
			largest = group
		}
	}
	slices.Sort(largest)
	return largest
}

// visit adds to seen what can be reached from a file.
func visit(uses map[string]map[string]bool, from string, seen map[string]bool) {
	for to := range uses[from] {
		if !seen[to] {
			seen[to] = true
			visit(uses, to, seen)
		}
	}
}
