package main

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

// TestReferenceIsFresh holds docs/reference to the commands that there are: a page and a man
// page for each. `go test ./cmd/weft -run Reference -update` writes them.
func TestReferenceIsFresh(t *testing.T) {
	for _, name := range []string{"WEFT_MESH", "POD_NAMESPACE", "WEFT_ENVOY"} {
		t.Setenv(name, "") // defaults of flags
	}
	const dir = root + "/docs/reference"
	wanted := map[string]bool{}
	var write func(*cobra.Command)
	write = func(c *cobra.Command) {
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
			write(sub)
		}
	}
	all := newRoot(&app{})
	all.DisableAutoGenTag = true
	write(all)
	for _, pattern := range []string{"*.md", "man/*.1"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name, _ := filepath.Rel(dir, f)
			if !wanted[name] {
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
