package route_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// TestInSegments: a language that replaces prefixes of whole segments alone says a rule that replaces what paths begin
// with, wherever that ends in them; a rule that replaces nothing, or a whole path, is no matter of segments, and what
// ends in a slash ends with a segment anyway.
func TestInSegments(t *testing.T) {
	t.Parallel()
	to := "/v2"
	part, whole := &route.PathRewrite{Prefix: &to}, &route.PathRewrite{Full: &to}
	for _, c := range []struct {
		op         match.Op
		path       string
		replaced   *route.PathRewrite
		expression bool
		want       bool
	}{
		{match.BytePrefix, "/api", part, false, true},
		{match.BytePrefix, "/api/", part, false, false},
		{match.BytePrefix, "/api", part, true, false},
		{match.BytePrefix, "/api", whole, false, false},
		{match.BytePrefix, "/api", nil, false, false},
		{match.SegmentPrefix, "/api", part, false, false},
		{match.Equal, "/api", part, false, false},
	} {
		rule := &route.MergedRule{}
		if c.replaced != nil {
			rule.Filters = []route.Filter{{Rewrite: &route.Rewrite{Path: c.replaced}}}
		}
		table := &route.Table{Lines: []route.Line{{Match: matches.Path(c.op, c.path), MergedRule: rule, Expression: c.expression}}}
		if got := table.InSegments(0); got != c.want {
			t.Errorf("%v %s, by an expression %v, replaced by %+v: %v", c.op, c.path, c.expression, c.replaced, got)
		}
	}
}

// TestBalanceInWords: who asks how endpoints are chosen is told all of it, and nothing that nobody said.
func TestBalanceInWords(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]route.Balance{
		"":                          {},
		"least request":             {Algorithm: route.LeastRequest},
		"ring hash":                 {Algorithm: route.RingHash},
		"ring hash bounded by 150%": {Algorithm: route.RingHash, Bound: 150},
		"round robin, slowly to new endpoints for 10s":                  {SlowStart: 10e9, Exponent: 1},
		"round robin, slowly to new endpoints for 10s from 5%":          {SlowStart: 10e9, Exponent: 1, LeastWeight: 5},
		"random, slowly to new endpoints for 10s (to the power of 2.5)": {Algorithm: route.Random, SlowStart: 10e9, Exponent: 2.5},
	} {
		if got := b.String(); got != want {
			t.Errorf("%+v: %q, want %q", b, got, want)
		}
	}
}
