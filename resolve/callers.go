package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// callersOf are those whom matches tell apart, so that the first of them that has a caller
// says all that the matches say of it: single IDs, then those below an ID, the nearest
// first. A match by the name that a client asks for is not among them: a connection may be
// one of several services.
func callersOf(items []*item) []effective.Callers {
	var out []effective.Callers
	for _, it := range items {
		for _, m := range it.matches {
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

// about reports whether the item says something of all those callers: it has no matches,
// or one of them holds of each.
func (it *item) about(c effective.Callers) bool {
	if len(it.matches) == 0 {
		return true
	}
	return slices.ContainsFunc(it.matches, func(m policies.ClientMatch) bool {
		wider, ok := callers(m)
		return ok && (wider == c || wider.Below && spiffe.Under(c.ID, wider.ID))
	})
}

// callersNotes say why an item is about nobody, or about fewer than it says.
func callersNotes(x mesh, it *item) []api.Note {
	var out []api.Note
	add := func(at api.Path, text string) {
		out = append(out, api.Notef(it.origin, api.Error, "UnsupportedValue", at, "%s", text))
	}
	at := it.field.Field("matches")
	if len(it.matches) > 0 && !x.isGuarded() {
		add(at, "callers are told apart by mutual TLS, which the mesh does not have, so the rule is not applied; leave out matches to apply it to every caller")
		return out
	}
	for i, m := range it.matches {
		if m.SNI != nil {
			add(at.Index(i).Field("sni"), "what the rule says stands at routes, and Envoy chooses no route by the name that callers ask for in TLS, so the match is not applied; match their spiffeID alone")
		}
	}
	return out
}
