package check

import (
	"os"
	"strings"
	"testing"
)

// Each check says what to do, and has a section of the page; the page has no others.
func TestEachCheckHasASection(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, checks := range [][]Check{All(false), All(true), OfSidecar()} {
		for _, c := range checks {
			known[c.Code] = true
			if c.Says == "" || c.Hint == "" || !strings.Contains(string(text), "\n## "+c.Code+"\n") {
				t.Errorf("%s has no text, no advice or no section", c.Code)
			}
		}
	}
	for line := range strings.Lines(string(text)) {
		if code, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok && !known[code] {
			t.Errorf("nothing is checked as %s", code)
		}
	}
}
