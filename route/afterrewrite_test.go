package route_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// TestArriving: what holds of requests after a rule has rewritten them (spec/identity.md 4.5).
func TestArriving(t *testing.T) {
	t.Parallel()
	path := func(op match.Op, value string) match.Condition { return matches.On(match.OnPath, op, "", value) }
	prefix := func(to string) []route.Filter {
		return []route.Filter{{Rewrite: &route.Rewrite{Path: &route.PathRewrite{Prefix: &to}}}}
	}
	full := "/entire"
	header := matches.On(match.OnHeader, match.Equal, "x-team", "a")
	sets := []route.Filter{{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: "X-Team", Value: "b"}}}}}
	for _, c := range []struct {
		of      match.Conditions
		filters []route.Filter
		want    string
	}{
		{match.Conditions{path(match.SegmentPrefix, "/api")}, nil, "PathPrefix /api"},
		{match.Conditions{path(match.SegmentPrefix, "/api")}, prefix("/"), "PathPrefix /"},
		{match.Conditions{path(match.SegmentPrefix, "/api")}, prefix("/v2/"), "PathPrefix /v2"},
		{match.Conditions{path(match.SegmentPrefix, "/")}, prefix("/v2"), "PathPrefix /v2"},
		{match.Conditions{path(match.Equal, "/api")}, prefix("/v2"), "Exact /v2"},
		{match.Conditions{path(match.BytePrefix, "/api")}, prefix("/v2"), "path begins with /v2"},
		{match.Conditions{path(match.FullMatch, "/a.*")}, prefix("/v2"), "RegularExpression /a.*"},
		{match.Conditions{path(match.SegmentPrefix, "/api"), header}, []route.Filter{{Rewrite: &route.Rewrite{Path: &route.PathRewrite{Full: &full}}}}, "Exact /entire x-team=a"},
		{match.Conditions{path(match.SegmentPrefix, "/api"), header}, sets, "PathPrefix /api !it asks for the header x-team, and writes it"},
		{match.Conditions{path(match.SegmentPrefix, "/api")}, []route.Filter{{Rewrite: &route.Rewrite{Path: &route.PathRewrite{Each: &route.Replacement{Expression: "a", With: "b"}}}}},
			"any path !it rewrites the path by an expression, so that nobody knows what arrives"},
		{match.Conditions{path(match.Equal, "/a//b")}, nil, "PathPrefix / !inbounds read the path /a//b in another spelling"},
		{match.Conditions{path(match.Equal, "/%61")}, nil, "PathPrefix / !inbounds read the path /%61 in another spelling"},
	} {
		out, why := route.AfterRewrite(c.of, c.filters)
		got := out.Short()
		if why != "" {
			got += " !" + why
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.of.Short(), got, c.want)
		}
	}
}

// TestArrivingHolds: of every request that a rule takes, what is said to arrive holds after its
// rewrite; and where it is exact, of a request that arrives so there is one that becomes it.
func TestArrivingHolds(t *testing.T) {
	t.Parallel()
	parts := []string{"/", "/a", "/a/", "/a/b", "/ab", "/b", "/a/b/c"}
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom([]match.Op{match.Equal, match.SegmentPrefix, match.BytePrefix}).Draw(t, "op")
		value := rapid.SampledFrom(parts).Draw(t, "value")
		if op == match.SegmentPrefix && value != "/" {
			value = strings.TrimSuffix(value, "/")
		}
		cs := match.Conditions{matches.On(match.OnPath, op, "", value)}
		to := rapid.SampledFrom(append([]string{""}, parts...)).Draw(t, "to")
		w := &route.PathRewrite{Prefix: &to}
		if rapid.Bool().Draw(t, "full") {
			w = &route.PathRewrite{Full: &to}
		} else if op == match.BytePrefix {
			w.Literal = rapid.Bool().Draw(t, "literal")
		}
		out, why := route.AfterRewrite(cs, []route.Filter{{Rewrite: &route.Rewrite{Path: w}}})
		if why != "" {
			t.Fatal(why)
		}
		path := rapid.SampledFrom([]string{"", "/", "/x", "x", "/a", "/a/b"}).Draw(t, "rest")
		if path = value + path; !cs.Holds(&match.Request{Path: path}) {
			return
		}
		after, ok := w.Of(cs.Path(), path)
		if !ok {
			after = path
		}
		if strings.Contains(after, "//") {
			return // inbounds take several slashes for one
		}
		if !out.Holds(&match.Request{Path: after}) {
			t.Fatalf("%s of %s becomes %s, of which %s does not hold", path, cs.Short(), after, out.Short())
		}
	})
}
