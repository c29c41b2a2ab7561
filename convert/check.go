package convert

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// findings are what comes back otherwise than it was printed.
type findings struct {
	lost map[int]string // lines, and why
	// before are pairs of lines of which the second, which was tried later, is now tried
	// first for requests that both take.
	before [][2]int
	// takes is a rule of another document that takes requests of the table.
	takes *api.Origin
	// beyond says that rules of other documents take what no line takes.
	beyond    bool
	unmatched *route.MergedRule
	rows      []route.Row // as read back
	of        [][]int     // the lines behind each row
	// at is the first row that asks for all that a line asks for, or for one of its
	// alternatives, by lines.
	at map[int]int
}

// part is an atom of a line.
type part struct {
	match.Atom
	key string
	row int // the last row that says a part of it; -1 while none does
	// whole says that a row says all of it.
	whole bool
}

// back is an atom of a row that came back, and the line that it is of.
type back struct {
	match.Atom
	row, line int
}

// comparison compares the rows that came back with the lines that were printed.
type comparison struct {
	*findings
	t     *route.Table
	port  uint32
	parts map[int][]part // by line
	backs []back
}

// check compares the rows that came back with the lines that were printed.
func check(t *route.Table, p *route.Printed, port uint32, made route.Composition) *findings {
	f := &findings{lost: map[int]string{}, unmatched: made.Default, rows: made.Rows, of: make([][]int, len(made.Rows)), at: map[int]int{}}
	x := &comparison{findings: f, t: t, port: port, parts: map[int][]part{}}
	for _, lines := range p.From {
		for _, l := range lines {
			if len(x.parts[l]) == 0 {
				for _, a := range t.Lines[l].Atoms() {
					x.parts[l] = append(x.parts[l], part{a, a.Key(), -1, false})
				}
			}
		}
	}
	var strange []int
	for n := range made.Rows {
		lines, own := written(p, made.Rows[n].MergedRule)
		if !own {
			strange = append(strange, n)
			continue
		}
		f.of[n] = lines
		for _, a := range made.Rows[n].Match.Atoms() {
			if why := x.place(lines, a, n); why != "" {
				for _, l := range lines {
					f.lost[l] = why
				}
			}
		}
	}
	for l, list := range x.parts {
		if slices.ContainsFunc(list, func(x part) bool { return !x.whole }) && f.lost[l] == "" && !p.Partly(l) {
			f.lost[l] = "its match does not come back as it was"
		}
	}
	x.order()
	x.foreign(strange)
	return f
}

// written are the lines of which a rule has come; false where it is none of the table's.
func written(p *route.Printed, c *route.MergedRule) ([]int, bool) {
	var out []int
	for _, o := range c.Origins {
		lines, ok := p.From[route.RuleRefOf(o)]
		if !ok {
			return nil, false
		}
		out = append(out, lines...)
	}
	return out, len(out) > 0
}

// place finds the lines of which an atom of row n is, or is a part of, and says what is
// wrong with it.
func (x *comparison) place(lines []int, a match.Atom, n int) string {
	key, inside, row := a.Key(), false, &x.rows[n]
	for _, l := range lines {
		line := &x.t.Lines[l]
		for i := range x.parts[l] {
			y := &x.parts[l][i]
			if y.key != key && !y.Implies(a.Conditions) {
				continue
			}
			inside = true
			if effect(row.MergedRule, row.Match.Path(), a.Path(), x.port) != effect(line.MergedRule, line.Path(), a.Path(), x.port) {
				if why := leadsNowhere(line.MergedRule, row.MergedRule); why != "" {
					return "a backend leads nowhere, for " + why
				}
				return otherwise(parts(line.MergedRule, line.Path(), a.Path(), x.port), parts(row.MergedRule, row.Match.Path(), a.Path(), x.port))
			}
			if !within(row.Inline, line.Inline) {
				return "it would say more of timeouts, retries or limits"
			}
			y.row, y.whole = max(y.row, n), y.whole || y.key == key
			x.backs = append(x.backs, back{a, n, l})
			if _, seen := x.at[l]; y.key == key && !seen {
				x.at[l] = n
			}
		}
	}
	if !inside {
		return "it would take more requests than before"
	}
	return ""
}

// within reports whether all fields of policies that one rule says are those of another.
func within(some, all []route.Inline) bool {
	others := route.FieldsOf(all)
	for kind, fields := range route.FieldsOf(some) {
		for at, v := range fields {
			if text(others[kind][at]) != text(v) {
				return false
			}
		}
	}
	return true
}

// order finds lines that are tried before others which were tried before them.
func (x *comparison) order() {
	found := map[[2]int]bool{}
	for i := range x.t.Lines {
		for _, b := range x.backs {
			pair := [2]int{i, b.line}
			if i >= b.line || found[pair] {
				continue
			}
			late := slices.ContainsFunc(x.parts[i], func(y part) bool { return y.row > b.row && !y.Disjoint(b.Conditions) })
			if late && differ(x.t, i, b.line, x.port) {
				found[pair] = true
				x.before = append(x.before, pair)
			}
		}
	}
}

// differ reports whether two lines do different things with a request that both take.
func differ(t *route.Table, i, j int, port uint32) bool {
	a, b := &t.Lines[i], &t.Lines[j]
	if a.MergedRule == b.MergedRule && a.Path().Equal(*b.Path()) {
		return false
	}
	of := a.Path()
	return effect(a.MergedRule, a.Path(), of, port) != effect(b.MergedRule, b.Path(), of, port) || text(route.FieldsOf(a.Inline)) != text(route.FieldsOf(b.Inline))
}

// foreign looks at rows that other documents say.
func (x *comparison) foreign(rows []int) {
	for _, n := range rows {
		row := &x.rows[n]
		x.beyond = true
		for l := range x.t.Lines {
			line := &x.t.Lines[l]
			same := effect(row.MergedRule, row.Match.Path(), line.Path(), x.port) == effect(line.MergedRule, line.Path(), line.Path(), x.port)
			late := slices.ContainsFunc(x.parts[l], func(y part) bool { return y.row > n && !y.Disjoint(row.Match.Conditions) })
			if late && !same {
				if x.takes = originOf(row.MergedRule); x.takes == nil {
					x.takes = &api.Origin{}
				}
			}
		}
	}
}

// short is how messages name a line.
func short(l *route.Line) string {
	if o := originOf(l.MergedRule); o != nil {
		return fmt.Sprintf("%s of %s", o.Field, o.FullName())
	}
	return l.Short()
}

// originOf is who says what a rule does; nil where nobody wrote it.
func originOf(c *route.MergedRule) *api.Origin {
	switch {
	case c.ActionBy != nil:
		return c.ActionBy
	case len(c.Origins) > 0:
		return c.Origins[len(c.Origins)-1]
	}
	return nil
}
