package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// CallersOf are those whom matches tell apart, so that the first of them that has a caller
// says all that the matches say of it: single IDs, then those below an ID, the nearest
// first. A match by the name that a client asks for is not among them: a connection may be
// one of several services.
func CallersOf(items []*Item) []effective.Callers {
	var out []effective.Callers
	for _, it := range items {
		for _, m := range it.Matches {
			if c, ok := callers(m); ok {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b effective.Callers) int {
		switch {
		case a.Below != b.Below && a.Below:
			return 1
		case a.Below != b.Below:
			return -1
		case a.Below:
			return cmp.Or(cmp.Compare(len(b.ID), len(a.ID)), cmp.Compare(a.ID, b.ID))
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return slices.Compact(out)
}

// callers are those of whom a match of a rule holds.
func callers(m policies.ClientMatch) (effective.Callers, bool) {
	if m.SpiffeID == nil || m.SNI != nil {
		return effective.Callers{}, false
	}
	return effective.Callers{ID: strings.TrimSuffix(m.SpiffeID.Value, "/"), Below: m.SpiffeID.Type == "Prefix"}, true
}

// About reports whether the item says something of all those callers: it has no matches,
// or one of them holds of each.
func (it *Item) About(c effective.Callers) bool {
	if len(it.Matches) == 0 {
		return true
	}
	return slices.ContainsFunc(it.Matches, func(m policies.ClientMatch) bool {
		wider, ok := callers(m)
		return ok && (wider == c || wider.Below && spiffe.Under(c.ID, wider.ID))
	})
}
