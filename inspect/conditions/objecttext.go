package conditions

import (
	"fmt"
	"io"
	"strings"

	"github.com/weftmesh/weft/inspect/terminal"
)

// ObjectText writes where an object takes part.
func ObjectText(w io.Writer, e ObjectExplanation, s terminal.Style) error {
	p := terminal.Printer{Style: s}
	p.Line("%s", s.Strong(e.Object))
	for _, c := range e.Conditions {
		p.Line("  %s=%s  %s  %s", c.Type, c.Status, c.Reason, s.Faint(c.Message))
	}
	for _, t := range e.Targets {
		text := fmt.Sprintf("%s  %s", t.Text, s.Faint(string(t.Field)))
		switch t.State {
		case Shadowed:
			var by []string
			for _, o := range t.By {
				by = append(by, terminal.OriginText(o))
			}
			p.Line("  %s  overridden by %s", s.Loser(text), strings.Join(by, ", "))
		case Found:
			p.Line("  ✓ %s", text)
			for _, l := range t.Superseded {
				p.Line("    %s", p.Loser(l.What+": overridden by "+terminal.OriginText(l.By)))
			}
		default:
			p.Line("  %s  %s: %s", s.Loser(text), t.State, t.Reason)
		}
	}
	p.Line("on %d of %d selected dataplanes: %s", len(e.Dataplanes), e.Counts.Selected, few(e.Dataplanes))
	if len(e.Missing) > 0 {
		p.Line("not on: %s", few(e.Missing))
	}
	p.Notes(e.Notes)
	return p.Flush(w)
}

func few(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 10:
		return strings.Join(names[:10], ", ") + fmt.Sprintf(" and %d more", len(names)-10)
	}
	return strings.Join(names, ", ")
}
