package main

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/inspect"
)

// A table fits its terminal wherever each column can keep a few letters, and one that fits
// loses nothing.
func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "columns of the table")
		cell := rapid.StringMatching(`[a-zäß]{0,40}`)
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, n, n), 1, 6).Draw(t, "rows")
		columns := rapid.IntRange(n*(leastColumn+gap), 120).Draw(t, "columns")
		for i, r := range fit(rows, columns) {
			whole := gap * (n - 1)
			for j, c := range r {
				widest := 0
				for _, other := range fit(rows, columns) {
					widest = max(widest, utf8.RuneCountInString(other[j]))
				}
				whole += widest
				if head, cut := strings.CutSuffix(c, "…"); c != rows[i][j] && (!cut || !strings.HasPrefix(rows[i][j], head)) {
					t.Fatalf("%q became %q", rows[i][j], c)
				}
			}
			if whole > columns {
				t.Fatalf("%d columns of %d", whole, columns)
			}
		}
		for i, r := range fit(rows, 1000) {
			if strings.Join(r, "|") != strings.Join(rows[i], "|") {
				t.Fatalf("%q became %q with room for it", rows[i], r)
			}
		}
	})
}

// Who waits sees how many are there, and of whom nobody has heard; no words of an Envoy
// move the cursor.
func TestProgressOfWaiting(t *testing.T) {
	t.Parallel()
	s := inspect.Sync{InSync: 38, Behind: []string{"a", "b"}}
	got := waitingFor(s, 40, errors.New("2 sidecars behind: a\x1b[2J, b\nc"), 60)
	if want := "[███████████████████·] 38/40  2 sidecars behind: a"; !strings.HasPrefix(got, want) || strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("%q, want %q …", got, want)
	}
	if got := waitingFor(s, 0, errors.New(strings.Repeat("x", 200)), 60); utf8.RuneCountInString(got) != 59 {
		t.Errorf("%d columns of 60: %q", utf8.RuneCountInString(got), got)
	}
	if got := waitingFor(inspect.Sync{}, 0, errors.New("no control plane"), 0); got != "no control plane" {
		t.Errorf("%q", got)
	}
}
