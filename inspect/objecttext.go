package inspect

import (
	"fmt"
	"io"
	"strings"
)

// ObjectText writes where an object takes part.
func ObjectText(w io.Writer, e ObjectExplanation, s Style) error {
	p := printer{Style: s}
	p.line("%s", s.strong(e.Object))
	for _, c := range e.Conditions {
		p.line("  %s=%s  %s  %s", c.Type, c.Status, c.Reason, s.faint(c.Message))
	}
	for _, t := range e.Targets {
		text := fmt.Sprintf("%s  %s", t.Text, s.faint(string(t.Field)))
		switch t.State {
		case Shadowed:
			var by []string
			for _, o := range t.By {
				by = append(by, OriginText(o))
			}
			p.line("  %s  overridden by %s", s.loser(text), strings.Join(by, ", "))
		case Found:
			p.line("  ✓ %s", text)
			for _, l := range t.Lost {
				p.line("    %s", p.loser(l.What+": overridden by "+OriginText(l.By)))
			}
		default:
			p.line("  %s  %s: %s", s.loser(text), t.State, t.Reason)
		}
	}
	p.line("on %d of %d selected dataplanes: %s", len(e.Dataplanes), e.Counts.Selected, few(e.Dataplanes))
	if len(e.Missing) > 0 {
		p.line("not on: %s", few(e.Missing))
	}
	p.notes(e.Notes)
	return p.flush(w)
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
