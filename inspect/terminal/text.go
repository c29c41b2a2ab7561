// Package terminal prints answers for people: lines with colours, matches, filters and origins in words,
// what policies say with who says it, and verdicts of simulations.
package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Style is how text is shown.
type Style struct {
	// Colour uses the terminal's colours, and strikes losers through instead of
	// marking them with a cross.
	Colour bool
	// Short leaves out what has no effect, and says what would be said again by
	// where it was said.
	Short bool
}

// Paint is text in a colour or form of the terminal, by its number (ECMA-48 SGR).
func (s Style) Paint(code, text string) string {
	if !s.Colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Strong is text that is read first.
func (s Style) Strong(text string) string { return s.Paint("1", text) }

// Faint is text that is read last.
func (s Style) Faint(text string) string { return s.Paint("2", text) }

// Loser is a value that does not hold.
func (s Style) Loser(text string) string {
	if !s.Colour {
		return "✗ " + text
	}
	return s.Paint("9;2", text)
}

// Printer collects lines.
type Printer struct {
	Style
	text strings.Builder
	At   string            // what is being described
	said map[string]string // what was said of policies, and where
	idle int               // fields that were left out, for they have no effect
}

// Line adds a line.
func (p *Printer) Line(format string, args ...any) {
	fmt.Fprintf(&p.text, format, args...)
	p.text.WriteByte('\n')
}

// Flush writes the lines, without spaces at their ends.
func (p *Printer) Flush(w io.Writer) error {
	for line := range strings.Lines(p.text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// Notes lists notes with whose documents they are about.
func (p *Printer) Notes(list []api.Note) {
	if len(list) > 0 {
		p.Line("")
		p.Line("%s", p.Strong("Notes"))
	}
	for _, n := range list {
		text := NoteText(n)
		if n.Origin != nil && n.Field == n.Origin.Field {
			text = n.Message // the origin says where
		}
		p.Line("  %s %s %s: %s", n.Severity, n.Code, p.Strong(OriginText(n.Origin)), text)
	}
}
