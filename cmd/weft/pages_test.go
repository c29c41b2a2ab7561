package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/cases"
)

// root is the folder of the project, from where the pages' commands are run.
const root = "../.."

// TestPagesShowWhatIsPrinted runs each command that a page shows with what it
// prints ("$ weft …" in a fenced text block) and compares.
func TestPagesShowWhatIsPrinted(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(root + "/examples/*/README.md")
	if err != nil || len(pages) < 3 {
		t.Fatalf("%d examples, %v", len(pages), err)
	}
	for _, page := range append(pages, root+"/README.md") {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			shown := 0
			cases.Equal(t, page, []byte(printed(string(text), func(line string) string {
				shown++
				return shell(t, line)
			})))
			if shown == 0 {
				t.Error("it shows no command")
			}
		})
	}
}

// printed is the page with what its commands print now.
func printed(page string, run func(line string) string) string {
	var out strings.Builder
	fenced, stale, several := false, false, false
	for line := range strings.Lines(page) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			fenced, stale, several = line == "```text\n", false, false
		case fenced && ok:
			if several {
				out.WriteString("\n")
			}
			out.WriteString(line + run(command))
			stale, several = true, true
			continue
		case stale:
			continue
		}
		out.WriteString(line)
	}
	return out.String()
}

// shell runs a command line as a reader of the page would, and is what it prints.
func shell(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "WEFT_MESH=", "WEFT_SERVER=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}
