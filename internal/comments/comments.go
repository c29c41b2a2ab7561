// Package comments reads what the comments of Go code say of types and their fields, for
// descriptions that are made from code.
package comments

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
)

// Reader reads the packages of a module.
type Reader struct {
	module, root string
	packages     map[string]map[string]string // by import path: texts by Type and Type.Field
}

// New reads packages of module, whose go.mod stands in the folder root.
func New(module, root string) *Reader {
	return &Reader{module: module, root: root, packages: map[string]map[string]string{}}
}

// About is the comment of a type, or of a field of it; empty where there is none, and of types
// of other modules. It panics where the code cannot be read.
func (r *Reader) About(t reflect.Type, field string) string {
	path, ok := strings.CutPrefix(t.PkgPath(), r.module)
	if !ok {
		return ""
	}
	texts, known := r.packages[path]
	if !known {
		var err error
		if texts, err = read(filepath.Join(r.root, filepath.FromSlash(path))); err != nil {
			panic(fmt.Sprintf("comments of %s: %v", t.PkgPath(), err))
		}
		r.packages[path] = texts
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	if field != "" {
		name += "." + field
	}
	return texts[name]
}

// read is what the comments of the package in a folder say.
func read(folder string) (map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		types(out, f)
	}
	return out, nil
}

// types adds what a file says of its types.
func types(out map[string]string, f *ast.File) {
	for _, d := range f.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, s := range d.Specs {
			spec := s.(*ast.TypeSpec)
			out[spec.Name.Name] = sentence(firstOf(spec.Doc, d.Doc))
			if st, ok := spec.Type.(*ast.StructType); ok {
				fields(out, spec.Name.Name, st)
			}
		}
	}
}

func fields(out map[string]string, name string, st *ast.StructType) {
	for _, f := range st.Fields.List {
		for _, id := range f.Names {
			out[name+"."+id.Name] = sentence(firstOf(f.Doc, f.Comment))
		}
	}
}

func firstOf(groups ...*ast.CommentGroup) *ast.CommentGroup {
	for _, g := range groups {
		if g != nil {
			return g
		}
	}
	return nil
}

// subject is how a comment of Go begins: the name and a verb.
var subject = regexp.MustCompile(`^\w+ (is|are) `)

// sentence is the first sentence of a comment as one line, without the name of what it is about.
func sentence(g *ast.CommentGroup) string {
	if g == nil {
		return ""
	}
	text := subject.ReplaceAllString(new(doc.Package).Synopsis(g.Text()), "")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
