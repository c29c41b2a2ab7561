package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// CallerItem is an item of an inbound with those callers whom it is about.
type CallerItem struct {
	*Item
	All bool // everybody
	By  []effective.CallerMatch
}

// OfSomeCallers reports whether the item is one of from that is about some callers, by its ref.
func (it *Item) OfSomeCallers() bool {
	return strings.HasPrefix(string(it.Field), "spec.from") && (it.Target.Kind != api.KindMesh || len(it.Target.Tags) > 0)
}

// WithMatches is the item with those callers whom its matches tell apart, where its ref is about all. A match by the
// name that a client asks for tells nobody apart: a connection may be one of several services.
func (it *Item) WithMatches() CallerItem {
	out := CallerItem{Item: it, All: len(it.Matches) == 0}
	for _, m := range it.Matches {
		if c, ok := callers(m); ok {
			out.By = append(out.By, c)
		}
	}
	return out
}

// callers are those of whom a match of a rule holds.
func callers(m policies.ClientMatch) (effective.CallerMatch, bool) {
	if m.SpiffeID == nil || m.SNI != nil {
		return effective.CallerMatch{}, false
	}
	return effective.CallerMatch{ID: strings.TrimSuffix(m.SpiffeID.Value, "/"), Below: m.SpiffeID.Type == "Prefix"}, true
}

// About reports whether the item says something of all those callers: it is about everybody, or one of
// its matches holds of each.
func (it *CallerItem) About(c effective.CallerMatch) bool {
	return it.All || slices.ContainsFunc(it.By, func(wider effective.CallerMatch) bool { return covers(wider, c) })
}

// covers reports whether a holds of everybody of whom b holds.
func covers(a, b effective.CallerMatch) bool {
	if !idCovers(a, b) {
		return false
	}
	names := b.Names()
	return !slices.ContainsFunc(a.Names(), func(n string) bool { return !slices.Contains(names, n) })
}

func idCovers(a, b effective.CallerMatch) bool {
	return a.ID == b.ID && a.Below == b.Below || a.Below && spiffe.Under(b.ID, a.ID)
}

// CallersOf are those whom items tell apart, so that the first of them that has a caller
// says all that the items say of it: single IDs, then those below an ID, the nearest
// first, and of those with one ID who has to have more names beside it.
func CallersOf(items []CallerItem) []effective.CallerMatch {
	var out []effective.CallerMatch
	for i := range items {
		out = append(out, items[i].By...)
	}
	slices.SortFunc(out, inOrder)
	out = slices.Compact(out)
	if slices.ContainsFunc(out, func(c effective.CallerMatch) bool { return c.Also != "" }) { // else one of two holds of who is in both
		out = withBoth(out)
		slices.SortFunc(out, inOrder)
	}
	return out
}

func inOrder(a, b effective.CallerMatch) int {
	names := func(c effective.CallerMatch) int { return -len(c.Names()) }
	beside := cmp.Or(cmp.Compare(names(a), names(b)), cmp.Compare(a.Also, b.Also))
	switch {
	case a.Below != b.Below && a.Below:
		return 1
	case a.Below != b.Below:
		return -1
	case a.Below:
		return cmp.Or(cmp.Compare(len(b.ID), len(a.ID)), cmp.Compare(a.ID, b.ID), beside)
	}
	return cmp.Or(cmp.Compare(a.ID, b.ID), beside)
}

// mostCallers is how many callers of an inbound are told apart at most, for there may be as many as sets of tags.
const mostCallers = 256

// withBoth adds to those of a list who is in two of them, and in two of those, and so on.
func withBoth(list []effective.CallerMatch) []effective.CallerMatch {
	for i := 0; i < len(list); i++ {
		for _, other := range list[:i] {
			if len(list) >= mostCallers {
				return list
			}
			if c, ok := both(list[i], other); ok && !slices.Contains(list, c) {
				list = append(list, c)
			}
		}
	}
	return list
}

// both are those who are in a and in b; not ok where nobody is. Nobody is taken to have two IDs: a workload that has
// those of several services is told by the first.
func both(a, b effective.CallerMatch) (c effective.CallerMatch, ok bool) {
	switch {
	case idCovers(a, b):
		c = b
	case idCovers(b, a):
		c = a
	default:
		return c, false
	}
	names := slices.Concat(a.Names(), b.Names())
	slices.Sort(names)
	c.Also = effective.AlsoNamed(slices.Compact(names))
	return c, true
}
