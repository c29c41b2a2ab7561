package skipper

import (
	"cmp"
	"math"
	"slices"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// drawn is a row that a part of the draws takes.
type drawn struct {
	conditions match.Conditions
	until      float64
	ends       float64 // how far the segments of one draw are taken
	draw       draw
}

// draw is what is drawn once: by which part of which route.
type draw struct {
	of   *planned
	part int
}

// finished makes the rows of the table. Envoy draws once for a request, and knows
// only where a range of draws ends: what comes to a row by the same conditions has
// failed at the rows by chance before it, so its own chance counts from where the
// last of these ended. Where that depends on the request, a row stands before it for
// those that satisfy both. It is rough where there are too many of those, see maxDrawn.
func finished(rows []row) (out []route.Row, rough bool) {
	var before []drawn
	add := func(r *row, conditions match.Conditions) {
		m := match.Match{Conditions: conditions}
		r.Matches = append(r.Matches, m)
		out = append(out, route.Row{MergedRule: r.MergedRule, Match: m})
	}
	for i := range rows {
		r := &rows[i]
		all := r.all()
		switch {
		case r.chance <= 0:
		case r.chance >= 1 && r.ends == 0:
			add(r, all)
		default:
			own, left := r.ranges(all, before)
			rough = rough || left
			for _, d := range own {
				add(r, within(d.conditions, d.until))
			}
			before = append(before, own...)
		}
	}
	return out, rough
}

// all are the conditions of the row, that on its path first.
func (r *row) all() match.Conditions {
	if r.at == nil {
		return r.conditions
	}
	return slices.Concat(match.Conditions{r.at.condition()}, r.conditions)
}

// maxDrawn bounds the rows by chance of a host. A row comes behind each combination of what
// rows before it ask for, so that every one of them may double their number; where there
// are more, it is only told from those whose conditions its own imply, and has a greater
// or lesser share of the requests of which others hold too.
const maxDrawn = 1000

// ranges are those of a row by chance behind others; rough where some of those are left
// out of account.
func (r *row) ranges(all match.Conditions, before []drawn) (out []drawn, rough bool) {
	behind := slices.DeleteFunc(slices.Clone(before), func(d drawn) bool {
		if d.draw == r.draw || d.conditions.Disjoint(all) {
			return true
		}
		leave := len(before) > maxDrawn && !implied(d.conditions, all)
		rough = rough || leave
		return leave
	})
	slices.SortStableFunc(behind, func(a, b drawn) int { return cmp.Compare(b.until, a.until) })
	for _, d := range behind {
		until, ends := r.after(d.until, d.ends)
		if implied(d.conditions, all) {
			return append(out, drawn{all, until, ends, r.draw}), rough
		}
		out = append(out, drawn{slices.Concat(all, d.conditions), until, ends, r.draw})
	}
	until, ends := r.after(0, 0)
	return append(out, drawn{all, until, ends, r.draw}), rough
}

// after is where the draws end that the row takes, and how far the segments are taken
// then, behind rows that have taken them so far. Segments divide one draw among
// themselves, and any other chance is drawn by itself.
func (r *row) after(until, ends float64) (float64, float64) {
	switch {
	case r.ends == 0:
		return until + (1-until)*r.chance, ends
	case r.ends <= ends:
		return until, ends
	}
	part := (r.ends - ends) * r.chance
	return until + (1-until)*part/(1-ends), ends + part
}

// within are the conditions for the draws below until.
func within(all match.Conditions, until float64) match.Conditions {
	n := int64(math.Round(until * match.Chances))
	if n >= match.Chances {
		return all
	}
	c, err := match.Within(match.OnChance, "", 0, max(n, 1))
	if err != nil {
		panic(err) // the range is one of draws
	}
	return append(slices.Clone(all), c)
}

// implied reports whether of whatever all hold, cs hold too. It is sound, not complete.
func implied(cs, all match.Conditions) bool {
	for i := range cs {
		if !slices.ContainsFunc(all, func(c match.Condition) bool { return cs[i].Implies(&c) }) {
			return false
		}
	}
	return true
}
