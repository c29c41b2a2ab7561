package convert

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weftmesh/weft/route"
)

// divide gives each match of rules a rule of its own, so that they stand in the order of the
// table where the language does not care; false where they have. A limit has one bucket in
// a rule, so a rule that says something about how its requests are treated stays one.
func (w *work) divide(rules ...*route.MergedRule) (divided bool) {
	for i := range w.lines {
		l := &w.lines[i]
		if slices.Contains(rules, l.MergedRule) && !l.Alone && w.several(l.MergedRule) && len(l.Inline) == 0 {
			l.Alone, divided = true, true
		}
	}
	return divided
}

// move moves lines in the order of the language, where it has another one.
func (w *work) move() bool {
	if len(w.found.before) == 0 {
		return false
	}
	pair := w.found.before[0]
	first, then := &w.lines[pair[0]], &w.lines[pair[1]]
	switch {
	case w.divide(first.MergedRule, then.MergedRule):
	case !then.Expression:
		then.Expression = true
	case !first.Expression:
		first.Expression = true
	case !w.ranked:
		w.ranked = true
	default:
		return w.lose(map[int]reason{pair[1]: {"OrderNotExpressible", fmt.Sprintf("%s would try it before %s, which comes first", w.Kind, short(first))}})
	}
	return true
}

// settle puts the lines into the order in which the language tries them, where that is
// another one that does the same: then what is read and printed again stays as it is.
func (w *work) settle() bool {
	if w.settled {
		return false
	}
	w.settled = true
	n := len(w.lines)
	if w.ended {
		n-- // the last stays the last
	}
	lines := w.tried(n)
	var sorted []route.Line
	for n, i := range lines {
		for _, j := range lines[n+1:] { // a line of which parts stand apart may not pass another
			if j < i && !w.lines[i].Disjoint(w.lines[j].Conditions) && differ(&w.Table, j, i, w.frontend.Port) {
				return false
			}
		}
		sorted = append(sorted, w.lines[i])
	}
	if slices.IsSorted(lines) {
		return false
	}
	w.lines = append(sorted, w.lines[n:]...)
	return true
}

// tried are the first n lines in the order in which the language tries them, those that are
// in no rule last.
func (w *work) tried(n int) []int {
	at, lines := make([]int, n), make([]int, n)
	for i := range n {
		lines[i], at[i] = i, len(w.found.of)
		if row, whole := w.found.at[i]; whole {
			at[i] = row
		} else if row := slices.IndexFunc(w.found.of, func(of []int) bool { return slices.Contains(of, i) }); row >= 0 {
			at[i] = row // it stands in parts
		}
	}
	slices.SortStableFunc(lines, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	return lines
}
