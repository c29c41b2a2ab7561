package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// swaps are the operators that a defect exchanges.
var swaps = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.GEQ, token.GEQ: token.LSS,
	token.GTR: token.LEQ, token.LEQ: token.GTR,
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD,
	token.MUL: token.QUO, token.QUO: token.MUL,
}

// candidates are all defects that can be planted, in the order of their places.
func (t *tree) candidates(only string) ([]defect, error) {
	var all []defect
	for _, p := range t.places() {
		for _, name := range p.GoFiles {
			found, err := inFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			for _, d := range found {
				d.pkg, d.file = p, path.Join(t.folder(p), name)
				d.id = d.file + " " + d.id
				if strings.Contains(d.String(), only) {
					all = append(all, d)
				}
			}
		}
	}
	return all, nil
}

// finder collects the defects of one file.
type finder struct {
	set   *token.FileSet
	text  []byte
	in    string         // the function
	alike map[string]int // how often a function has had a change
	found []defect
}

func inFile(file string) ([]defect, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := &finder{set: token.NewFileSet(), text: text, alike: map[string]int{}}
	parsed, err := parser.ParseFile(f.set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) { // its generator has tests of its own
		return nil, err
	}
	for _, decl := range parsed.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			f.in = fn.Name.Name
			if fn.Recv != nil {
				f.in = f.source(fn.Recv.List[0].Type) + "." + f.in
			}
			ast.Inspect(fn.Body, f.visit)
		}
	}
	return f.found, nil
}

// visit adds the defects of one node; false leaves out what is below it.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if calls(n, "make") {
			return false // a capacity
		}
	case *ast.BinaryExpr:
		if to, ok := swaps[n.Op]; ok && !f.aboutCapacity(n) {
			f.add(n.OpPos, len(n.Op.String()), to.String(), fmt.Sprintf("%s -> %s", n.Op, to))
		}
	case *ast.IfStmt:
		f.add(n.Cond.Pos(), int(n.Cond.End()-n.Cond.Pos()), "!("+f.source(n.Cond)+")", "if "+clip(f.source(n.Cond))+" -> its opposite")
	case *ast.Ident:
		switch n.Name {
		case "true":
			f.add(n.Pos(), 4, "false", "true -> false")
		case "false":
			f.add(n.Pos(), 5, "true", "false -> true")
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 32); n.Kind == token.INT && err == nil {
			f.add(n.Pos(), len(n.Value), strconv.FormatInt(v+1, 10), fmt.Sprintf("%s -> %d", n.Value, v+1))
		}
	case *ast.BranchStmt:
		f.branch(n)
	case *ast.ExprStmt:
		if calls(n.X, "panic") {
			return false // what cannot happen
		}
		f.add(n.Pos(), int(n.End()-n.Pos()), "", "without "+clip(f.source(n)))
	case *ast.AssignStmt:
		if n.Tok == token.ASSIGN {
			f.add(n.Pos(), int(n.End()-n.Pos()), "", "without "+clip(f.source(n)))
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add(n.OpPos, 1, "", "!"+clip(f.source(n.X))+" -> "+clip(f.source(n.X)))
		}
	}
	return true
}

// calls reports whether an expression calls what is built in by that name.
func calls(x ast.Expr, name string) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == name
}

func (f *finder) branch(n *ast.BranchStmt) {
	if n.Label != nil {
		return
	}
	switch n.Tok {
	case token.CONTINUE:
		f.add(n.Pos(), len("continue"), "break", "continue -> break")
	case token.BREAK:
		f.add(n.Pos(), len("break"), "continue", "break -> continue")
	}
}

// aboutCapacity tells sums that only size an allocation.
func (f *finder) aboutCapacity(n *ast.BinaryExpr) bool {
	return strings.HasPrefix(f.source(n), "cap(")
}

func (f *finder) add(pos token.Pos, length int, text, what string) {
	p := f.set.Position(pos)
	id := f.in + " " + what
	f.alike[id]++
	id = fmt.Sprint(id, " ", f.alike[id])
	f.found = append(f.found, defect{id: id, line: p.Line, from: p.Offset, to: p.Offset + length, text: text, what: what})
}

func (f *finder) source(n ast.Node) string {
	return string(f.text[f.set.Position(n.Pos()).Offset:f.set.Position(n.End()).Offset])
}

// clip makes a piece of source fit into a line.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}
