package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// chosen is the name by which files import the package that says which defect
// is active.
const chosen = "plantedDefect"

// insertion is a piece of text that a file gets.
type insertion struct {
	at   int
	text string
}

// weave gives each function with defects a copy of its body for each of them,
// which runs in place of the body where the defect is active, and notes where
// the intact body reaches the place of a defect. All defects are of the file.
func weave(text []byte, defects []defect, planted string) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	add := []insertion{{offset(file.Name.End()), fmt.Sprintf("; import %s %q", chosen, planted)}}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		from, to := offset(fn.Body.Lbrace), offset(fn.Body.Rbrace)+1
		for _, d := range defects {
			if from < d.from && d.to < to {
				add = append(add, insertion{from + 1, d.copied(fn, text, offset)})
				add = append(add, insertion{offset(before(fn.Body, d.from, offset)), fmt.Sprintf("%s.Reached(%d); ", chosen, d.number)})
			}
		}
	}
	return insert(text, add), nil
}

// copied is the body with the defect, as a statement before the intact one. It
// is a block, so that named results and recover mean what they did; a body with
// labels is a function, because a function holds each label once.
func (d defect) copied(fn *ast.FuncDecl, text []byte, offset func(token.Pos) int) string {
	from := offset(fn.Body.Pos())
	body := d.damaged(text[from:offset(fn.Body.End())], from)
	results := fn.Type.Results
	switch label := labelled(fn.Body); {
	case label && results == nil:
		body = "{ func()" + body + "(); return }"
	case label:
		body = "{ return func() " + string(text[offset(results.Pos()):offset(results.End())]) + body + "() }"
	case results == nil:
		body = "{ " + body + "; return }"
	}
	return fmt.Sprintf("\nif %s.Is(%d) %s\n", chosen, d.number, body)
}

// before is where the innermost statement begins that stands in a list of
// statements and holds the place.
func before(body *ast.BlockStmt, place int, offset func(token.Pos) int) token.Pos {
	at := body.Lbrace + 1
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil || place < offset(n.Pos()) || place >= offset(n.End()) {
			return false
		}
		for _, s := range statements(n) {
			if offset(s.Pos()) <= place && place < offset(s.End()) {
				at = s.Pos()
			}
		}
		return true
	})
	return at
}

// statements are those that are listed in a block or in a case.
func statements(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return slices.DeleteFunc(slices.Clone(n.List), func(s ast.Stmt) bool {
			switch s.(type) {
			case *ast.CaseClause, *ast.CommClause:
				return true // cases are no statements
			}
			return false
		})
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// labelled tells whether there are labels in the body.
func labelled(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		_, label := n.(*ast.LabeledStmt)
		found = found || label
		return !found
	})
	return found
}

// insert puts the pieces into the text; those of one place stay in their order.
func insert(text []byte, add []insertion) []byte {
	slices.SortStableFunc(add, func(a, b insertion) int { return cmp.Compare(a.at, b.at) })
	var out strings.Builder
	at := 0
	for _, i := range add {
		out.Write(text[at:i.at])
		out.WriteString(i.text)
		at = i.at
	}
	out.Write(text[at:])
	return []byte(out.String())
}
