package skipper

import (
	"cmp"
	"math"
	"slices"

	"github.com/weftmesh/weft/route"
)

// drawn is a row that a part of the draws takes.
type drawn struct {
	conditions route.Conditions
	until      float64
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
// those that satisfy both.
func finished(rows []row) []route.Row {
	var out []route.Row
	var before []drawn
	add := func(r *row, conditions route.Conditions) {
		m := route.Match{Conditions: conditions}
		r.Matches = append(r.Matches, m)
		out = append(out, route.Row{Composed: r.Composed, Match: m})
	}
	for i := range rows {
		r := &rows[i]
		all := r.all()
		switch {
		case r.chance <= 0:
		case r.chance >= 1:
			add(r, all)
		default:
			own := r.ranges(all, before)
			for _, d := range own {
				add(r, within(d.conditions, d.until))
			}
			before = append(before, own...)
		}
	}
	return out
}

// all are the conditions of the row, that on its path first.
func (r *row) all() route.Conditions {
	if r.at == nil {
		return r.conditions
	}
	return slices.Concat(route.Conditions{r.at.condition()}, r.conditions)
}

// ranges are those of a row by chance behind others.
func (r *row) ranges(all route.Conditions, before []drawn) []drawn {
	behind := slices.DeleteFunc(slices.Clone(before), func(d drawn) bool { return d.draw == r.draw || d.conditions.Apart(all) })
	slices.SortStableFunc(behind, func(a, b drawn) int { return cmp.Compare(b.until, a.until) })
	var out []drawn
	for _, d := range behind {
		until := d.until + (1-d.until)*r.chance
		if implied(d.conditions, all) {
			return append(out, drawn{all, until, r.draw})
		}
		out = append(out, drawn{slices.Concat(all, d.conditions), until, r.draw})
	}
	return append(out, drawn{all, r.chance, r.draw})
}

// within are the conditions for the draws below until.
func within(all route.Conditions, until float64) route.Conditions {
	n := int64(math.Round(until * route.Chances))
	if n >= route.Chances {
		return all
	}
	c, err := route.Within(route.OnChance, "", 0, max(n, 1))
	if err != nil {
		panic(err) // the range is one of draws
	}
	return append(slices.Clone(all), c)
}

// implied reports whether of whatever all hold, cs hold too. It is sound, not complete.
func implied(cs, all route.Conditions) bool {
	for i := range cs {
		if !slices.ContainsFunc(all, func(c route.Condition) bool { return cs[i].Covers(&c) }) {
			return false
		}
	}
	return true
}
