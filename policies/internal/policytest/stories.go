// Package policytest is what the tests of all kinds of policy share: stories of
// validation, random confs, and a small configuration for a real Envoy.
package policytest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

var update = flag.Bool("update", false, "write what the tests got into their testdata")

// Stories checks each testdata/validation/*.txtar of the package under test: the
// documents of each .yaml in it give the violations of the .want of its name,
// one a line, in this order. The documents without any are named as accepted.
func Stories(t *testing.T, kinds ...*policies.Kind) {
	var types []api.Type
	for _, k := range kinds {
		types = append(types, k.Type())
	}
	catalog := api.NewCatalog(types...)
	files, err := filepath.Glob("testdata/validation/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			story, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			told := &txtar.Archive{Comment: story.Comment}
			for _, f := range story.Files {
				if name, ok := strings.CutSuffix(f.Name, ".yaml"); ok {
					told.Files = append(told.Files, f, txtar.File{Name: name + ".want", Data: []byte(Decode(catalog, f.Data))})
				}
			}
			Golden(t, file, txtar.Format(told))
		})
	}
}

// Decode is what the catalog has to say about a text.
func Decode(catalog *api.Catalog, text []byte) string {
	objects, err := catalog.Decode("", text)
	var out strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&out, "accepted %s\n", o.Name)
	}
	for _, v := range api.Violations(err) {
		fmt.Fprintf(&out, "%s %s %s\n", v.Severity, v.Object.Name, v.Error())
	}
	if err != nil && len(api.Violations(err)) == 0 {
		fmt.Fprintf(&out, "%v\n", err)
	}
	return out.String()
}

// Golden compares got with a file, or writes it there under -update.
func Golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it):\n%s", file, diff)
	}
}

// JSON is a conf as explanations print it.
func JSON(c policies.Conf) string {
	text, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
