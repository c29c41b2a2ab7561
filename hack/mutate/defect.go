package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// defect is one small change of one file.
type defect struct {
	number   int // from 1, among those that are planted
	seed     uint64
	pkg      listed
	id       string // what stays as it is when other places change
	file     string // from the root on
	line     int
	from, to int    // bytes of the file that are replaced
	text     string // by this
	what     string // for people
}

// String is the place and the change.
func (d defect) String() string { return fmt.Sprintf("%s:%d: %s", d.file, d.line, d.what) }

// damaged is a part of the file of the defect, from an offset on, with the defect.
func (d defect) damaged(part []byte, from int) string {
	return string(part[:d.from-from]) + d.text + string(part[d.to-from:])
}

// choose takes the first defects that compile.
func (t *tree) choose(ctx context.Context, all []defect, count int) ([]defect, error) {
	set := token.NewFileSet()
	c := checker{t, importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(t.export[path]) }), set, map[string]*ast.File{}}
	var out []defect
	for _, d := range all {
		if len(out) == count || ctx.Err() != nil {
			break
		}
		if ok, err := c.compiles(d); err != nil {
			return nil, err
		} else if ok {
			out = append(out, d)
		}
	}
	return out, ctx.Err()
}

// checker finds out whether a package with a defect would compile.
type checker struct {
	tree   *tree
	using  types.Importer
	set    *token.FileSet
	intact map[string]*ast.File
}

func (c checker) compiles(d defect) (bool, error) {
	var files []*ast.File
	for _, name := range d.pkg.GoFiles {
		path := filepath.Join(d.pkg.Dir, name)
		if name != filepath.Base(d.file) {
			file, err := c.parse(path)
			if err != nil {
				return false, err
			}
			files = append(files, file)
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return false, err
		}
		file, err := parser.ParseFile(c.set, path, d.damaged(text, 0), parser.SkipObjectResolution)
		if err != nil {
			return false, nil
		}
		files = append(files, file)
	}
	config := types.Config{Importer: c.using, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	_, err := config.Check(d.pkg.ImportPath, c.set, files, nil)
	return err == nil, nil
}

// parse is a file without a defect.
func (c checker) parse(path string) (*ast.File, error) {
	if file := c.intact[path]; file != nil {
		return file, nil
	}
	file, err := parser.ParseFile(c.set, path, nil, parser.SkipObjectResolution)
	c.intact[path] = file
	return file, err
}
