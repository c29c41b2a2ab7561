package route_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/route"
)

// TestArriving: what holds of requests after a rule has rewritten them (spec/identity.md 4.5).
func TestArriving(t *testing.T) {
	t.Parallel()
	path := func(op route.Op, value string) route.Condition { return matches.On(route.OnPath, op, "", value) }
	prefix := func(to string) []route.Filter {
		return []route.Filter{{Rewrite: &route.Rewrite{Path: &route.PathRewrite{Prefix: &to}}}}
	}
	full := "/entire"
	header := matches.On(route.OnHeader, route.Equal, "x-team", "a")
	sets := []route.Filter{{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: "X-Team", Value: "b"}}}}}
	for _, c := range []struct {
		of      route.Conditions
		filters []route.Filter
		want    string
	}{
		{route.Conditions{path(route.SegmentPrefix, "/api")}, nil, "PathPrefix /api"},
		{route.Conditions{path(route.SegmentPrefix, "/api")}, prefix("/"), "PathPrefix /"},
		{route.Conditions{path(route.SegmentPrefix, "/api")}, prefix("/v2/"), "PathPrefix /v2"},
		{route.Conditions{path(route.SegmentPrefix, "/")}, prefix("/v2"), "PathPrefix /v2"},
		{route.Conditions{path(route.Equal, "/api")}, prefix("/v2"), "Exact /v2"},
		{route.Conditions{path(route.BytePrefix, "/api")}, prefix("/v2"), "path begins with /v2"},
		{route.Conditions{path(route.FullMatch, "/a.*")}, prefix("/v2"), "RegularExpression /a.*"},
		{route.Conditions{path(route.SegmentPrefix, "/api"), header}, []route.Filter{{Rewrite: &route.Rewrite{Path: &route.PathRewrite{Full: &full}}}}, "Exact /entire x-team=a"},
		{route.Conditions{path(route.SegmentPrefix, "/api"), header}, sets, "PathPrefix /api !it asks for the header x-team, and writes it"},
		{route.Conditions{path(route.SegmentPrefix, "/api")}, []route.Filter{{Rewrite: &route.Rewrite{Path: &route.PathRewrite{Each: &route.Replacement{Expression: "a", With: "b"}}}}},
			"any path !it rewrites the path by an expression, so that nobody knows what arrives"},
		{route.Conditions{path(route.Equal, "/a//b")}, nil, "PathPrefix / !inbounds read the path /a//b in another spelling"},
		{route.Conditions{path(route.Equal, "/%61")}, nil, "PathPrefix / !inbounds read the path /%61 in another spelling"},
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
		op := rapid.SampledFrom([]route.Op{route.Equal, route.SegmentPrefix, route.BytePrefix}).Draw(t, "op")
		value := rapid.SampledFrom(parts).Draw(t, "value")
		if op == route.SegmentPrefix && value != "/" {
			value = strings.TrimSuffix(value, "/")
		}
		cs := route.Conditions{matches.On(route.OnPath, op, "", value)}
		to := rapid.SampledFrom(append([]string{""}, parts...)).Draw(t, "to")
		w := &route.PathRewrite{Prefix: &to}
		if rapid.Bool().Draw(t, "full") {
			w = &route.PathRewrite{Full: &to}
		} else if op == route.BytePrefix {
			w.Literal = rapid.Bool().Draw(t, "literal")
		}
		out, why := route.AfterRewrite(cs, []route.Filter{{Rewrite: &route.Rewrite{Path: w}}})
		if why != "" {
			t.Fatal(why)
		}
		path := rapid.SampledFrom([]string{"", "/", "/x", "x", "/a", "/a/b"}).Draw(t, "rest")
		if path = value + path; !cs.Holds(&route.Request{Path: path}) {
			return
		}
		after, ok := w.Of(cs.Path(), path)
		if !ok {
			after = path
		}
		if strings.Contains(after, "//") {
			return // inbounds take several slashes for one
		}
		if !out.Holds(&route.Request{Path: after}) {
			t.Fatalf("%s of %s becomes %s, of which %s does not hold", path, cs.Short(), after, out.Short())
		}
	})
}
