package lint

import (
	"fmt"
	"io"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/terminal"
)

// painted is the colour of a severity.
var painted = map[api.Severity]string{api.Error: "31", api.Warning: "33", api.Info: "36"}

// Text writes a report for people at a terminal: a line for each finding, and one for all.
func Text(w io.Writer, r Report, s terminal.Style) error {
	var out strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		where := api.Position{File: f.File, Line: f.Line, Column: f.Column}.String()
		if f.File == "" {
			where = f.Object
		}
		fmt.Fprintf(&out, "%s: %s %s: %s\n", where, s.Paint(painted[f.Severity], string(f.Severity)), s.Paint("1", f.Code), strings.ReplaceAll(f.text(), "\n", " "))
	}
	for _, what := range r.Unseen {
		fmt.Fprintf(&out, "not looked at: %s\n", what)
	}
	fmt.Fprintf(&out, "%s, %s, %s, %s", counted(r.Documents, "document"), counted(r.Count(api.Error), "error"), counted(r.Count(api.Warning), "warning"), counted(r.Count(api.Info), "hint"))
	if n := len(r.Silenced); n > 0 {
		fmt.Fprintf(&out, ", %d silenced", n)
	}
	out.WriteString("\n")
	_, err := io.WriteString(w, out.String())
	return err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
