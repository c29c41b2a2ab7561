package tables

import (
	"slices"

	"github.com/weftmesh/weft/route"
)

// cells are those that a request can be asked by itself: chance takes no part,
// and claims take a filter that reads them.
var cells = slices.DeleteFunc(slices.Collect(route.Cells), func(c route.Cell) bool {
	return c.On == route.OnClaim || c.On == route.OnChance
})

// anyCell draws a condition of any cell, also of those that no language has yet.
func (d Dice) anyCell() route.Condition {
	for {
		if c, err := d.cell(cells[d.IntN(len(cells))]); err == nil {
			return c
		}
	}
}

func (d Dice) cell(c route.Cell) (route.Condition, error) {
	name := map[route.Subject]string{route.OnHeader: pick(d, "h1", "h2", "H1"), route.OnQuery: "q1", route.OnCookie: "a"}[c.On]
	value := map[route.Subject]string{
		route.OnPath: pick(d, "/", "/a", "/a/b", "/ab"), route.OnMethod: "GET", route.OnAuthority: pick(d, "web:8080", "WEB:8080", "example.org"),
	}[c.On]
	switch {
	case c.On == route.OnQuery:
		value = pick(d, "1", "2", "12", "X%20y", "")
	case value == "":
		value = pick(d, "1", "2", "12", "A b", "é", "")
	}
	switch c.Op {
	case route.Present:
		return route.Has(c.On, name, c.Mode)
	case route.FullMatch:
		return route.MatchAll(c.On, name, c.Mode, value+pick(d, "", ".*", "|2"))
	case route.OneOf:
		return route.Among(c.On, name, value, pick(d, "POST", "HEAD"))
	case route.InRange:
		return route.Within(c.On, name, int64(d.IntN(3)), 3)
	}
	return route.Compare(c.On, name, c.Op, c.Mode, value)
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
