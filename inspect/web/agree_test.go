package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web"
)

// What weft validate says of documents is what a control plane without others
// says when they are applied: all the errors, or else all the warnings. What may be elsewhere
// (a Mesh, a program that reads a kind) is a warning for validate, and refused by apply.
func TestValidateAndApplyAgree(t *testing.T) {
	t.Parallel()
	server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(c *web.Config) {
		c.Admission = world.Settings{}.Admission(admission.Options{SkipDefaults: true, Now: time.Now})
	})
	texts := 0
	for _, pattern := range []string{"../../api/decode/testdata/*.txtar", "../../testdata/stories/*.txtar", "../../policies/*/testdata/validation/*.txtar",
		"../../resolve/*/testdata/*.txtar", "../../resolve/*/testdata/*/*.txtar", "testdata/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for i, file := range files {
			if testing.Short() && i%8 != 0 {
				continue
			}
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range a.Files {
				if agrees(t, server.URL, file+"/"+part.Name, part.Data) {
					texts++
				}
			}
		}
	}
	if texts < 150 && !testing.Short() {
		t.Errorf("only %d texts hold documents", texts)
	}
}

// agrees compares what both say of one text; false where it holds no documents.
func agrees(t *testing.T, server, name string, text []byte) bool {
	t.Helper()
	text = bytes.ReplaceAll(text, []byte("labels: {weft.io/default: \"true\"}\n"), nil) // the store's own mark, which apply takes away
	reading, err := world.Read(bytes.NewReader(text), "-")
	if err != nil {
		return false
	}
	report := world.Validate(reading)
	code, answer := call(t, http.MethodPost, server+"/_apply?dryRun=true&file="+url.QueryEscape("<stdin>"), string(text))
	var said struct{ Violations, Warnings []inspect.Violation }
	if err := json.Unmarshal([]byte(answer), &said); err != nil {
		t.Fatalf("%s: %d %s", name, code, answer)
	}
	elsewhere := slices.ContainsFunc(report.Violations, isElsewhere)
	refused, severity, theirs := report.Failed(false) || elsewhere, api.Warning, said.Warnings
	if refused {
		severity, theirs = api.Error, slices.DeleteFunc(said.Violations, isElsewhere)
	}
	isOwnHost := lines(slices.DeleteFunc(slices.Clone(report.Violations), func(v inspect.Violation) bool { return v.Severity != severity || isElsewhere(v) }))
	if got := lines(theirs); refused != (code == http.StatusBadRequest) || got != isOwnHost {
		t.Errorf("%s: validate refuses: %v\n%s\napply answers %d\n%s", name, refused, isOwnHost, code, got)
	}
	return true
}

// isElsewhere reports whether a violation is of what other documents, or other programs, may have.
func isElsewhere(v inspect.Violation) bool {
	return v.Code == "MeshNotFound" || v.Code == "ForeignKind" || v.Code == "UnsupportedKind" || strings.HasPrefix(v.Message, "there is no mesh ")
}

// lines are violations as text, in one order: the places of equal rank may differ.
func lines(violations []inspect.Violation) string {
	var all []string
	for _, v := range violations {
		all = append(all, fmt.Sprintf("%d:%d %s %s %s %s", v.Line, v.Column, v.Object, v.Field, v.Code, v.Message))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
