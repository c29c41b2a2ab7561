package terminal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/inspecttest"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/wire"
)

func TestLosersAreStruckThroughInColour(t *testing.T) {
	t.Parallel()
	m := inspecttest.Model(t, inspecttest.Street)
	e, err := explain.Of(m, inspecttest.Plane("a-1"), "web")
	if err != nil {
		t.Fatal(err)
	}
	e.Acked = 7
	var plain, colour strings.Builder
	if err := explain.Text(&plain, e, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	if err := explain.Text(&colour, e, terminal.Style{Colour: true}); err != nil {
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

// Long lists of dataplanes are cut where they would not be read.
func TestManyDataplanesAreCounted(t *testing.T) {
	t.Parallel()
	const ten = "d0, d1, d2, d3, d4, d5, d6, d7, d8, d9"
	for n, want := range map[int]string{0: "none", 1: "d0", 10: ten, 11: ten + " and 1 more", 12: ten + " and 2 more"} {
		var e conditions.ObjectExplanation
		for i := range n {
			e.Dataplanes = append(e.Dataplanes, fmt.Sprint("d", i))
		}
		e.Counts.Selected = 20
		var text strings.Builder
		if err := conditions.ObjectText(&text, e, terminal.Style{}); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("on %d of 20 selected dataplanes: %s\n", n, want); !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in %s", want, text.String())
		}
	}
}

// TestBranchesSayByWhichDraw: each alternative has its probability, and the draws by
// which somebody may ask for it alone.
func TestBranchesSayByWhichDraw(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	v := sim.Verdict{From: "a-1", Request: wire.Request{Method: "GET", URL: "http://web/"}, Branches: []sim.Branch{
		{Probability: 0.25, Draws: []wire.Span{{From: 0, Until: 250_000}}, Outcome: sim.Forward, Backends: []sim.Backend{{Kind: "MeshService", Name: "web", Share: 1}}},
		{Probability: 0.75, Draws: []wire.Span{{From: 250_000, Until: 500_000}, {From: 600_000, Until: 1_000_000}}, Outcome: sim.Respond, Status: 404},
	}}
	if err := terminal.VerdictText(&text, v, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	want := `GET http://web/  from a-1

with probability 0.25, by a draw from 0 to 249999: forward to web

with probability 0.75, by a draw from 250000 to 499999, 600000 to 999999: the proxy answers 404
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}

// TestWhatTheCalledSidecarEndsIsSaid: an answer of its own, and a stream that it resets.
func TestWhatTheCalledSidecarEndsIsSaid(t *testing.T) {
	t.Parallel()
	for want, in := range map[string]sim.Inbound{
		"then, at web-1: its proxy answers 431\n":                            {Outcome: sim.Respond, Status: 431},
		"then, at web-1: its proxy resets the stream, which counts as 503\n": {Outcome: sim.Reset, Status: 503},
		"\n\nforward to web\n":                                               {Outcome: sim.Forward},
	} {
		in.Names, in.Dataplanes, in.Share = []string{"web-1"}, 1, 1
		backend := sim.Backend{Kind: "MeshService", Name: "web", Share: 1, Inbounds: []sim.Inbound{in}}
		var text strings.Builder
		v := sim.Verdict{From: "a-1", Request: wire.Request{Method: "GET", URL: "http://web/"}, Branches: []sim.Branch{{Probability: 1, Outcome: sim.Forward, Backends: []sim.Backend{backend}}}}
		if err := terminal.VerdictText(&text, v, terminal.Style{}); err != nil || !strings.HasSuffix(text.String(), want) {
			t.Errorf("%q does not end with %q: %v", text.String(), want, err)
		}
	}
}

// TestATableOfThousandsIsNotPrinted: of the rules that were not taken people are shown the twenty that
// say most: those whose path is that of the request, then those next to the rule that takes it.
func TestATableOfThousandsIsNotPrinted(t *testing.T) {
	t.Parallel()
	v := sim.Verdict{From: "a-1", Request: wire.Request{Method: "GET", URL: "http://web/"}}
	for i := range 3000 {
		reason := fmt.Sprintf("path / is not /v%d", i)
		if i == 5 || i == 7 {
			reason = "header x-canary is missing"
		}
		v.Missed = append(v.Missed, lookup.Miss{Origins: []*api.Origin{{Ref: api.Ref{Kind: "MeshHTTPRoute", Mesh: "default", Name: fmt.Sprintf("r-%d", i)}}}, Reason: reason})
	}
	var text strings.Builder
	if err := terminal.VerdictText(&text, v, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"r-5", "r-7", "r-2999", "r-2982", "and 2980 more"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
	if n := strings.Count(text.String(), "\n"); n > 30 || strings.Contains(text.String(), "r-2981") {
		t.Errorf("%d lines:\n%s", n, text.String())
	}
}
