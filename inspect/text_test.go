package inspect_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect"
)

func TestLosersAreStruckThroughInColour(t *testing.T) {
	t.Parallel()
	m := model(t, street)
	e, err := inspect.Explain(m, plane("a-1"), "web")
	if err != nil {
		t.Fatal(err)
	}
	e.Acked = 7
	var plain, colour strings.Builder
	if err := inspect.ExplanationText(&plain, e, inspect.Style{}); err != nil {
		t.Fatal(err)
	}
	if err := inspect.ExplanationText(&colour, e, inspect.Style{Colour: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(colour.String(), "\x1b[9;2m1\x1b[0m") || !strings.Contains(plain.String(), "✗ 1 ") {
		t.Errorf("the loser is not marked:\n%s\n%q", plain.String(), colour.String())
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(plain.String(), "its Envoy has 7") {
		t.Errorf("%s", plain.String())
	}
	for line := range strings.Lines(plain.String()) {
		if strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
			t.Errorf("space at the end of %q", line)
		}
	}
}
