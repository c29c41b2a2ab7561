// Package commandpages holds the reference of command lines to the commands that there are.
package commandpages

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/weftmesh/weft/internal/cases"
)

// environment are the variables that are defaults of flags: pages are made without them.
var environment = []string{"WEFT_MESH", "POD_NAMESPACE", "WEFT_ENVOY"}

// Fresh fails where the pages in dir, and the man pages below it, are not those of a program and
// its commands, which root makes. With -update it writes them.
func Fresh(t *testing.T, dir string, root func() *cobra.Command) {
	t.Helper()
	for _, name := range environment {
		t.Setenv(name, "")
	}
	program := root()
	program.DisableAutoGenTag = true
	wanted := map[string]bool{}
	write(t, dir, program, wanted)
	for _, pattern := range []string{program.Name() + ".md", program.Name() + "_*.md", "man/*.1"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name, _ := filepath.Rel(dir, f)
			if !wanted[name] && !ofAnother(name, program.Name()) {
				t.Errorf("%s is of no command; remove it", f)
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if home, _ := os.UserHomeDir(); home != "" && slices.Contains(strings.Fields(string(text)), home) {
				t.Errorf("%s names a place of this machine", f)
			}
		}
	}
}

// programs are those that have man pages in one directory.
var programs = []string{"weft", "weft-agent"}

// ofAnother reports whether a man page is of another program.
func ofAnother(name, program string) bool {
	owner := ""
	for _, p := range programs {
		if page := "man/" + p; (name == page+".1" || strings.HasPrefix(name, page+"-")) && len(p) > len(owner) {
			owner = p
		}
	}
	return strings.HasPrefix(name, "man/") && owner != program
}

func write(t *testing.T, dir string, c *cobra.Command, wanted map[string]bool) {
	t.Helper()
	if !c.IsAvailableCommand() && c.HasParent() {
		return
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "_")
	var page, man bytes.Buffer
	c.InitDefaultHelpFlag()
	if err := doc.GenMarkdownCustom(c, &page, func(to string) string { return to }); err != nil {
		t.Fatal(err)
	}
	// A page of no date: it is that of the version.
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := doc.GenMan(c, &doc.GenManHeader{Section: "1", Source: "weft", Manual: "weft", Date: &day}, &man); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{name + ".md": page.Bytes(), "man/" + strings.ReplaceAll(name, "_", "-") + ".1": man.Bytes()} {
		wanted[file] = true
		cases.Equal(t, filepath.Join(dir, file), text)
	}
	for _, sub := range c.Commands() {
		write(t, dir, sub, wanted)
	}
}
