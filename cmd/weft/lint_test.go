package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/weftmesh/weft/cmd/internal/cli"
)

// TestExamplesLintClean: nothing is doubtful about the documents of the project. Of those for a
// cluster its own kinds are not read, and of those of the demo the services are made by the
// program, so that references to these lead nowhere here.
func TestExamplesLintClean(t *testing.T) {
	t.Parallel()
	lacks := map[string]string{root + "/examples/kubernetes": "ForeignKind,NoEndpoints", "internal/demo/world": "TargetNotFound,BackendNotFound"}
	dirs := []string{"internal/demo/world"}
	entries, err := os.ReadDir(root + "/examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(root, "examples", e.Name()))
		}
	}
	if len(dirs) < 5 {
		t.Fatalf("only %v", dirs)
	}
	for _, dir := range dirs {
		var out, errs bytes.Buffer
		args := []string{"lint", "-f", dir, "--strict"}
		if codes := lacks[dir]; codes != "" {
			args = append(args, "--ignore", codes)
		}
		if status := run(t.Context(), args, nil, &out, &errs); status != cli.StatusDone {
			t.Errorf("%s: exit status %d\n%s%s", dir, status, out.String(), errs.String())
		}
	}
}
