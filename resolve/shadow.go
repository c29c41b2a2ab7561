package resolve

import "github.com/weftmesh/weft/route"

// ShadowOf is the first of the earlier routes of a table that takes every request
// that m matches; nil for none.
func ShadowOf(earlier []*Route, m *route.Match) *Route {
	for _, r := range earlier {
		if r.Match.Covers(m.Conditions) {
			return r
		}
	}
	return nil
}
