package inject

import (
	"fmt"
	"strings"
)

// Page are the tables of docs/injection.md, in Markdown: the decisions and the annotations.
func Page() (decisions, read, others string) {
	var d, r, o strings.Builder
	d.WriteString("| | the first that holds decides | code |\n|---|---|---|\n")
	for i, row := range rows {
		fmt.Fprintf(&d, "| %d | %s | `%s` |\n", i+1, row.condition, strings.Join(row.codes, "`, `"))
	}
	r.WriteString("| annotation | value | what it sets |\n|---|---|---|\n")
	o.WriteString("| annotation | |\n|---|---|\n")
	for _, a := range Annotations() {
		switch a.role {
		case sets:
			fmt.Fprintf(&r, "| `%s` | `%s` | %s |\n", a.Name, strings.ReplaceAll(a.Value, "|", `\|`), a.Means)
		case written:
			fmt.Fprintf(&o, "| `%s` | written by injection: %s |\n", a.Name, a.Means)
		case ignored:
			fmt.Fprintf(&o, "| `%s` | has no effect: %s |\n", a.Name, a.Means)
		case aLabel:
			fmt.Fprintf(&o, "| `%s` | read as a label only |\n", a.Name)
		case elsewhere:
			fmt.Fprintf(&o, "| `%s` | %s |\n", a.Name, a.Means)
		}
	}
	return d.String(), r.String(), o.String()
}
