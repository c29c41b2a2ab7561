package tables

import (
	"slices"

	"github.com/weftmesh/weft/route/match"
)

// cells are those that a request can be asked by itself: chance takes no part,
// and claims take a filter that reads them.
var cells = slices.DeleteFunc(slices.Collect(match.Cells), func(c match.Cell) bool {
	return c.On == match.OnClaim || c.On == match.OnChance
})

// anyCell draws a condition of any cell, also of those that no language has yet.
func (d Dice) anyCell() match.Condition {
	for {
		if c, err := d.cell(cells[d.IntN(len(cells))]); err == nil {
			return c
		}
	}
}

func (d Dice) cell(c match.Cell) (match.Condition, error) {
	name := map[match.Subject]string{match.OnHeader: pick(d, "h1", "h2", "H1"), match.OnQuery: "q1", match.OnCookie: "a"}[c.On]
	value := map[match.Subject]string{
		match.OnPath: pick(d, "/", "/a", "/a/b", "/ab"), match.OnMethod: "GET", match.OnAuthority: pick(d, "web:8080", "WEB:8080", "example.org"),
	}[c.On]
	switch {
	case c.On == match.OnQuery:
		value = pick(d, "1", "2", "12", "X%20y", "")
	case value == "":
		value = pick(d, "1", "2", "12", "A b", "é", "")
	}
	compare := func() (match.Condition, error) { return match.Compare(c.On, name, c.Op, c.Mode, value) }
	made := match.NewPerOp(compare, compare, compare, compare, compare,
		func() (match.Condition, error) {
			return match.MatchAll(c.On, name, c.Mode, value+pick(d, "", ".*", "|2"))
		},
		func() (match.Condition, error) { return match.Has(c.On, name, c.Mode) },
		func() (match.Condition, error) { return match.Among(c.On, name, value, pick(d, "POST", "HEAD")) },
		func() (match.Condition, error) { return match.Within(c.On, name, int64(d.IntN(3)), 3) },
	)
	return made.Of(c.Op)()
}

// Rare has conditions of all cells; what a route does is the wider test's business.
func (d Dice) Rare() []*Route {
	routes := d.Table()
	for _, r := range routes[:len(routes)-1] {
		*r = Route{Name: r.Name, Backends: r.Backends}
		for range 1 + d.IntN(2) {
			r.Match.Conditions = append(r.Match.Conditions, d.anyCell())
		}
	}
	return routes
}
