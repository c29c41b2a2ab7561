package terminal

import (
	"fmt"
	"strings"
)

// worthRepeating is how many lines are said again rather than referred to.
const worthRepeating = 2

// again is where the same was said of a kind of policies before, in short texts.
func (p *Printer) again(kind string, rows []row) string {
	if !p.Short || len(rows) <= worthRepeating {
		return ""
	}
	text := kind
	for _, r := range rows {
		text += "\n" + r.raw + "\t" + r.by
	}
	if where, ok := p.said[text]; ok {
		return where
	}
	if p.said == nil {
		p.said = map[string]string{}
	}
	p.said[text] = p.At
	return ""
}

// LeftOut counts what a short text does not say.
func (p *Printer) LeftOut(unmatched int) {
	var parts []string
	if p.idle > 0 {
		parts = append(parts, Counted(p.idle, "field without effect", "fields without effect"))
	}
	if unmatched > 0 {
		parts = append(parts, Counted(unmatched, "object that does not apply", "objects that do not apply"))
	}
	if len(parts) > 0 {
		p.Line("")
		p.Line("%s", p.Faint("not shown: "+strings.Join(parts, ", ")+"; --all shows them"))
	}
}

// Counted is a number with its word.
func Counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Cell keeps text from ending a cell of a table of Markdown, and from being markup.
var Cell = strings.NewReplacer("|", `\|`, "\n", " ", "`", "'", "<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`)
