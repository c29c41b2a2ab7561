package weft_test

import (
	"go/ast"
	"strings"
	"testing"
)

// fileCalls are functions of package os that package files stands for, with the packages and
// files that call them nevertheless, and why.
var fileCalls = map[string]map[string]string{
	"Rename":    {},
	"Link":      {},
	"WriteFile": {"cmd/weft/install_crds.go": "output for people", "cmd/weft/internal/demo/mesh.go": "lives as long as the demo"},
	"CreateTemp": {
		"cmd/weft/edit.go": "a draft that an editor opens",
		"cmd/weft/gui.go":  "a page that the browser reads once",
	},
}

// TestOneWriterOfFiles: what a program keeps is whole and on the disk, because one package does
// all of it.
func TestOneWriterOfFiles(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if name == "files" || isSupport(name) {
			continue
		}
		for _, f := range sources(t, p) {
			ast.Inspect(f.tree, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := s.X.(*ast.Ident)
				if !ok || x.Name != "os" {
					return true
				}
				allowed, restricted := fileCalls[s.Sel.Name]
				if at := name + "/" + f.name; restricted && allowed[at] == "" {
					t.Errorf("%s: use package files instead of os.%s", positions.Position(s.Pos()), s.Sel.Name)
				} else {
					used[s.Sel.Name+" "+at] = true
				}
				return true
			})
		}
	}
	for call, allowed := range fileCalls {
		for at := range allowed {
			if !used[call+" "+at] {
				t.Errorf("%s does without os.%s: take the exception away", at, call)
			}
		}
	}
}
