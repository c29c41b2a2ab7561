package route_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/route"
)

// A match asks what its parts ask, and a part that nothing can carry out is an
// error: it is never taken for 'equal'.
func TestConditionsOfAMatch(t *testing.T) {
	t.Parallel()
	path := func(typ route.PathType, value string) *route.PathMatch {
		return &route.PathMatch{Type: typ, Value: value}
	}
	header := func(typ, value string) route.Match {
		return route.Match{Headers: []route.HeaderMatch{{Type: typ, Name: "X-A", Value: value}}}
	}
	query := func(typ, value string) route.Match {
		return route.Match{Query: []route.QueryMatch{{Type: typ, Name: "q", Value: value}}}
	}
	for _, c := range []struct {
		match           route.Match
		text, wrongWith string
	}{
		{match: route.Match{Path: path(route.Exact, "/a"), Method: "GET"}, text: "path is /a and method is GET"},
		{match: route.Match{Path: path(route.Prefix, "/a")}, text: "path is under prefix /a"},
		{match: route.Match{Path: path(route.Regex, "/a.*")}, text: "path matches the expression /a.*"},
		{match: header("", "1"), text: `header x-a is "1"`},
		{match: header("Exact", "1"), text: `header x-a is "1"`},
		{match: header("Prefix", "1"), text: `header x-a begins with "1"`},
		{match: header("RegularExpression", "[0-9]"), text: "header x-a matches the expression [0-9]"},
		{match: header("Present", ""), text: "header x-a is present"},
		{match: header("Absent", ""), text: "header x-a is missing"},
		{match: query("Exact", "1"), text: `query parameter q is "1"`},
		{match: query("RegularExpression", "[0-9]"), text: "query parameter q matches the expression [0-9]"},
		{match: route.Match{Path: path("Glob", "/a")}, wrongWith: "path /a"},
		{match: route.Match{Path: path(route.Regex, "(")}, wrongWith: "path ("},
		{match: header("Suffix", "1"), wrongWith: "header X-A"},
		{match: query("Present", ""), wrongWith: "query parameter q"},
	} {
		got, err := c.match.Conditions()
		if c.wrongWith != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrongWith) {
				t.Errorf("%+v: got %v, want an error about %s", c.match, err, c.wrongWith)
			}
			continue
		}
		if err != nil || got.Text() != c.text {
			t.Errorf("%+v: got %q, %v; want %q", c.match, got.Text(), err, c.text)
		}
	}
}
