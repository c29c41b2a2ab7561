package contour

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyAsked draws what a rule may ask, from few words, so that much is equal.
func anyAsked(t *rapid.T) *asked {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	p := path{kind: pathKind(rapid.IntRange(0, 2).Draw(t, "kind")), value: pick("path", "/", "/a", "/b", "/ab", "/a/*/b", "/a*b", "/*/b")}
	if p.kind == byRegex {
		p.under = pick("under", "", "/a/")
	}
	var headers []header
	for range rapid.IntRange(0, 3).Draw(t, "headers") {
		headers = append(headers, header{parameter: parameter{name: pick("name", method, "a", "b"), does: comparison(rapid.IntRange(0, 5).Draw(t, "does")),
			value: pick("value", "1", "2"), ignoreCase: rapid.Bool().Draw(t, "case")}, not: rapid.Bool().Draw(t, "not"), missingIsEmpty: rapid.Bool().Draw(t, "empty")})
	}
	var queries []parameter
	for range rapid.IntRange(0, 2).Draw(t, "queries") {
		queries = append(queries, parameter{name: pick("query", "q", "r"), does: comparison(rapid.IntRange(0, 5).Draw(t, "asks")), value: pick("is", "1", "2")})
	}
	a := newAsked(p, headers, queries)
	return &a
}

// TestOrder: it is strict and weak, and equal in it are those with one key alone.
func TestOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyAsked(t), anyAsked(t), anyAsked(t)
		if x, y := a.compare(b), b.compare(a); x != -y {
			t.Fatalf("%s and %s: %d, and %d the other way", a.key(), b.key(), x, y)
		}
		if a.compare(b) <= 0 && b.compare(c) <= 0 && a.compare(c) > 0 {
			t.Fatalf("%s, %s, %s are in a circle", a.key(), b.key(), c.key())
		}
		if (a.compare(b) == 0) != (a.key() == b.key()) {
			t.Fatalf("%s and %s: compared %d", a.key(), b.key(), a.compare(b))
		}
	})
}

// TestOrderOfTheSpecification holds the examples of spec/httpproxy.md 4 and 8.
func TestOrderOfTheSpecification(t *testing.T) {
	t.Parallel()
	prefix := func(p string, headers ...header) *asked {
		a := newAsked(path{kind: byPrefix, value: p}, headers, nil)
		return &a
	}
	h := func(name string) header { return header{parameter: parameter{name: name}} }
	for _, list := range [][]*asked{
		{prefix("/blog/tech/info"), prefix("/blog/*/info"), prefix("/blog")},
		{prefix("/a/b/*/d"), prefix("/a/*/c/d"), prefix("/a/*/c")},
		{prefix("/app/bar"), prefix("/app/*/foo"), prefix("/app/")},
		{prefix("/foobar"), prefix("/foo", h("x"), h("y"), h("z")), prefix("/foo", h("x")), prefix("/foo")},
		{prefix("/a", h(method)), prefix("/a", h("x"), h("y")), prefix("/a")},
		{prefix("/b"), prefix("/a")},
	} {
		shuffled := slices.Clone(list)
		slices.Reverse(shuffled)
		slices.SortStableFunc(shuffled, func(a, b *asked) int { return a.compare(b) })
		if !slices.Equal(shuffled, list) {
			for _, a := range shuffled {
				t.Log(a.key())
			}
			t.Errorf("%s does not come first", list[0].key())
		}
	}
}
