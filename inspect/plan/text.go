package plan

import (
	"fmt"
	"io"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan/access"
	"github.com/weftmesh/weft/inspect/terminal"
)

var signs = map[string]string{"create": "+", "update": "~", "delete": "-", "unchanged": "="}

// signed colours by what becomes of something: green comes, red goes, yellow changes.
var signed = map[string]string{"create": "32", "update": "33", "delete": "31", "unchanged": "2"}

// Text writes a plan for people at a terminal.
func Text(w io.Writer, p Plan, s terminal.Style) error {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, strings.TrimRight(format, " ")+"\n", args...) }
	for _, c := range p.Changes {
		line("%s", s.Paint(signed[c.Action], signs[c.Action]+" "+c.Object)+"  "+c.Text())
	}
	line("")
	line("%s", s.Paint("1", p.summary()))
	access.Text(p.Permissions, p.PermissionsCut, line, s)
	place := ""
	for i := range p.Effects {
		e := &p.Effects[i]
		if i == 0 || !e.Same(&p.Effects[i-1].Listed) {
			place = "\x00"
			line("")
			line("%s", s.Paint("1", "at "+e.Text(10)))
		}
		if e.place() != place {
			if place = e.place(); place != "" {
				line("  %s", place)
			}
		}
		line("    %s", strings.TrimRight(e.what()+"  "+e.change()+"  "+s.Paint("2", e.by()), " "))
	}
	if len(p.Envoy) > 0 {
		line("")
		line("%s", s.Paint("1", "Envoy"))
	}
	for i := range p.Envoy {
		r := &p.Envoy[i]
		line("  %s  %s", s.Paint(signed[r.Action], signs[r.Action]+" "+r.Type+" "+r.Name), s.Paint("2", "at "+r.Text(3)))
		r.fieldsText(line, s)
	}
	if p.Draining > 0 {
		line("  connections drain: those through %s end gracefully", terminal.Counted(p.Draining, "listener", "listeners"))
	}
	if p.Cut > 0 {
		line("")
		line("and %d more, which -o json does not list either", p.Cut)
	}
	for i, v := range p.Warnings {
		if i == 0 {
			line("")
		}
		line("%s %s", s.Paint("33", "warning:"), warningText(v))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func warningText(v inspect.Violation) string {
	var parts []string
	at := api.Position{File: v.File, Line: v.Line, Column: v.Column}
	if v.File == "" { // a text that nobody has at hand
		at = api.Position{}
	}
	for _, x := range []string{at.String(), v.Object, string(v.Field), v.Message} {
		if x != "" {
			parts = append(parts, x)
		}
	}
	return strings.Join(parts, ": ")
}

// Markdown writes a plan for the description of a pull request.
func Markdown(w io.Writer, p Plan) error {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line("### weft plan: %s\n", terminal.Cell.Replace(p.summary()))
	for _, c := range p.Changes {
		line("- %s: %s", c.Text(), terminal.Cell.Replace(c.Object))
	}
	access.Markdown(p.Permissions, p.PermissionsCut, line)
	if len(p.Effects) > 0 {
		line("\n| at | where | what | before | after | by |\n|---|---|---|---|---|---|")
	}
	for i := range p.Effects {
		e := &p.Effects[i]
		before, after := valueText(e.Before), valueText(e.After)
		if e.Section == SectionOrigins {
			before, after = originsText(e.Before), originsText(e.After)
		}
		row := []string{e.Text(3), e.place(), e.what(), before, after, e.by()}
		for i := range row {
			row[i] = terminal.Cell.Replace(row[i])
		}
		line("| %s |", strings.Join(row, " | "))
	}
	if len(p.Envoy) > 0 {
		line("\n<details><summary>%s of Envoy</summary>\n", terminal.Counted(len(p.Envoy), "resource", "resources"))
		for i := range p.Envoy {
			line("- %s %s %s at %s", p.Envoy[i].Action, p.Envoy[i].Type, terminal.Cell.Replace(p.Envoy[i].Name), terminal.Cell.Replace(p.Envoy[i].Text(3)))
			for _, f := range p.Envoy[i].Fields {
				line("  - %s", terminal.Cell.Replace(f.text()))
			}
		}
		line("\n</details>")
	}
	if p.Draining > 0 {
		line("\nConnections drain: those through %s end gracefully.", terminal.Counted(p.Draining, "listener", "listeners"))
	}
	if p.Cut > 0 {
		line("\nand %d more", p.Cut)
	}
	for i, v := range p.Warnings {
		if i == 0 {
			line("")
		}
		line("- **warning** %s", terminal.Cell.Replace(warningText(v)))
	}
	_, err := io.WriteString(w, out.String())
	return err
}
