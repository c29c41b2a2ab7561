package convert

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// findings are what comes back otherwise than it was printed.
type findings struct {
	lost map[int]string // lines, and why
	// before are pairs of lines of which the second, which was tried later, is now tried
	// first for requests that both take.
	before [][2]int
	// foreign are rules of other documents that take requests of the table.
	foreign *api.Origin
	// beyond says that rules of other documents take what no line takes.
	beyond    bool
	unmatched *route.Composed
	rows      []route.Row // as read back
	of        [][]int     // the lines behind each row
}

// part is an atom of a line, with the row that says it; -1 while none does.
type part struct {
	route.Atom
	key  string
	line int
	row  int
}

// check compares the rows that came back with the lines that were printed.
func check(t *route.Table, p *route.Printed, port uint32, made route.Composition) *findings {
	f := &findings{lost: map[int]string{}, unmatched: made.Unmatched, rows: made.Rows, of: make([][]int, len(made.Rows))}
	parts := map[int][]part{} // by line
	for _, lines := range p.From {
		for _, l := range lines {
			for _, a := range t.Lines[l].Atoms() {
				parts[l] = append(parts[l], part{a, a.Key(), l, -1})
			}
		}
	}
	var strange []int
	for n := range made.Rows {
		row := &made.Rows[n]
		lines, own := written(p, row.Composed)
		if !own {
			strange = append(strange, n)
			continue
		}
		f.of[n] = lines
		for _, a := range row.Match.Atoms() {
			if why := place(t, parts, lines, a, n, row, port); why != "" {
				for _, l := range lines {
					f.lost[l] = why
				}
			}
		}
	}
	for l, list := range parts {
		if slices.ContainsFunc(list, func(x part) bool { return x.row < 0 }) && f.lost[l] == "" && !p.Partly(l) {
			f.lost[l] = "the match does not come back as it was"
		}
	}
	f.order(t, parts, port)
	f.strangers(t, parts, strange, port)
	return f
}

// written are the lines of which a rule has come; false where it is none of the table's.
func written(p *route.Printed, c *route.Composed) ([]int, bool) {
	var out []int
	for _, o := range c.Origins {
		lines, ok := p.From[route.Place{Ref: o.Ref, Field: o.Field}]
		if !ok {
			return nil, false
		}
		out = append(out, lines...)
	}
	return out, len(out) > 0
}

// place finds the line that an atom of a row is, or is a part of, and says what is wrong
// with it.
func place(t *route.Table, parts map[int][]part, lines []int, a route.Atom, n int, row *route.Row, port uint32) string {
	key, inside := a.Key(), false
	for _, l := range lines {
		for i := range parts[l] {
			x := &parts[l][i]
			same := x.key == key
			if !same && !x.Covers(a.Conditions) {
				continue
			}
			inside = true
			line := &t.Lines[l]
			if effect(row.Composed, row.Match.Path(), a.Path(), port) != effect(line.Composed, line.Path(), a.Path(), port) {
				return "what it does comes back otherwise"
			}
			if same && x.row < 0 {
				x.row = n
			}
		}
	}
	if !inside {
		return "it would take more requests than before"
	}
	return ""
}

// order finds lines that are tried before others which were tried before them.
func (f *findings) order(t *route.Table, parts map[int][]part, port uint32) {
	for i := range t.Lines {
		for j := i + 1; j < len(t.Lines); j++ {
			if inverted(parts[i], parts[j]) && differ(t, i, j, port) {
				f.before = append(f.before, [2]int{i, j})
			}
		}
	}
}

func inverted(first, then []part) bool {
	for i := range first {
		for j := range then {
			if first[i].row > then[j].row && then[j].row >= 0 && !first[i].Apart(then[j].Conditions) {
				return true
			}
		}
	}
	return false
}

// differ reports whether two lines do different things with a request that both take.
func differ(t *route.Table, i, j int, port uint32) bool {
	a, b := &t.Lines[i], &t.Lines[j]
	if a.Composed == b.Composed && a.Path().Equal(*b.Path()) {
		return false
	}
	of := a.Path()
	return effect(a.Composed, a.Path(), of, port) != effect(b.Composed, b.Path(), of, port) || text(plainFields(a.Inline)) != text(plainFields(b.Inline))
}

// strangers looks at rows that other documents say.
func (f *findings) strangers(t *route.Table, parts map[int][]part, strange []int, port uint32) {
	for _, n := range strange {
		row := &f.rows[n]
		f.beyond = true
		for l := range t.Lines {
			line := &t.Lines[l]
			same := effect(row.Composed, row.Match.Path(), line.Path(), port) == effect(line.Composed, line.Path(), line.Path(), port)
			for i := range parts[l] {
				if x := &parts[l][i]; x.row > n && !same && !x.Apart(row.Match.Conditions) {
					f.foreign = &api.Origin{}
					if len(row.Origins) > 0 {
						f.foreign = row.Origins[0]
					}
				}
			}
		}
	}
}

// plainFields are the fields of policies of a rule, for comparing.
func plainFields(list []route.Inline) map[string]map[string]any { return route.FieldsOf(list) }

// short is how messages name a line.
func short(l *route.Line) string {
	if o := originOf(l.Composed); o != nil {
		return fmt.Sprintf("%s of %s", o.Field, o.FullName())
	}
	return l.Short()
}

// originOf is who says what a rule does; nil where nobody wrote it.
func originOf(c *route.Composed) *api.Origin {
	switch {
	case c.ActionBy != nil:
		return c.ActionBy
	case len(c.Origins) > 0:
		return c.Origins[len(c.Origins)-1]
	}
	return nil
}
