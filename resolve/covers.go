package resolve

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/route"
)

// ShadowOf is the first of the earlier routes of a table that takes every request
// that m matches; nil for none.
func ShadowOf(earlier []*Route, m *route.Match) *Route {
	for _, r := range earlier {
		if Covers(&r.Match, m) {
			return r
		}
	}
	return nil
}

// Covers reports whether a matches every request that b matches. It says no
// where that would take comparing expressions.
func Covers(a, b *route.Match) bool {
	if a.Method != "" && a.Method != b.Method || !coversPath(a.Path, b.Path) {
		return false
	}
	for _, h := range a.Headers {
		if !slices.Contains(b.Headers, h) {
			return false
		}
	}
	for _, q := range a.Query {
		if !slices.Contains(b.Query, q) {
			return false
		}
	}
	return true
}

func coversPath(a, b *route.PathMatch) bool {
	slash := &route.PathMatch{Type: route.Prefix, Value: "/"}
	if a == nil {
		a = slash
	}
	if b == nil {
		b = slash
	}
	if *a == *b {
		return true
	}
	if a.Type != route.Prefix {
		return false
	}
	prefix := strings.TrimSuffix(a.Value, "/")
	switch b.Type {
	case route.Exact, route.Prefix:
		return b.Value == prefix || strings.HasPrefix(b.Value, prefix+"/")
	}
	return prefix == ""
}
