package inspect

import (
	"fmt"
	"strings"
)

// worthRepeating is how many lines are said again rather than referred to.
const worthRepeating = 2

// again is where the same was said of a kind of policies before, in short texts.
func (p *printer) again(kind string, rows []row) string {
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
	p.said[text] = p.at
	return ""
}

// leftOut counts what a short text does not say.
func (p *printer) leftOut(unmatched int) {
	var parts []string
	if p.idle > 0 {
		parts = append(parts, counted(p.idle, "field without effect", "fields without effect"))
	}
	if unmatched > 0 {
		parts = append(parts, counted(unmatched, "object that does not apply", "objects that do not apply"))
	}
	if len(parts) > 0 {
		p.line("")
		p.line("%s", p.faint("not shown: "+strings.Join(parts, ", ")+"; --all shows them"))
	}
}

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
