// Package cases runs tests that are written down as text: txtar files with what
// is given and what is wanted. It promises that every file is read, that there
// is one, and that all of each file is as it should be. With -update it writes
// what it got into the files instead, for review.
package cases

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what the tests got into their testdata")

// Files runs a subtest for each file that matches. tell gets what the file says,
// and returns what it should say.
func Files(t *testing.T, pattern string, tell func(t *testing.T, file string, a *txtar.Archive) *txtar.Archive) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			Equal(t, file, txtar.Format(tell(t, file, a)))
		})
	}
}

// Equal compares got with what a file holds.
func Equal(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if t.Failed() {
			return // what a broken test got is not worth keeping
		}
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
		t.Errorf("%s (-want +got; -update writes it):\n%s", file, diff)
	}
}
