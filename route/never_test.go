package route_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/route"
)

// TestUnmet: what no request has is known, with what to write; what some have is not taken for it.
func TestUnmet(t *testing.T) {
	t.Parallel()
	path := func(op route.Op, v string) route.Condition { return matches.On(route.OnPath, op, "", v) }
	query := func(op route.Op, v string) route.Condition { return matches.On(route.OnQuery, op, "v", v) }
	header := func(op route.Op, v string) route.Condition { return matches.On(route.OnHeader, op, "x-a", v) }
	cookie := func(op route.Op, v string) route.Condition { return matches.On(route.OnCookie, op, "c", v) }
	const exact, segment, bytes, full = route.Equal, route.SegmentPrefix, route.BytePrefix, route.FullMatch
	for _, x := range []struct {
		want string // what it says to write; empty: it can be met
		cs   route.Conditions
	}{
		{"write /b", route.Conditions{path(exact, "/a/../b")}},
		{"write /b", route.Conditions{path(segment, "/a/../b")}},
		{"write /a/", route.Conditions{path(exact, "/a/.")}},
		{"write /ex", route.Conditions{path(exact, "/%65x")}},
		{"write /a%20b", route.Conditions{path(exact, "/a b")}},
		{"write /a, and match the query", route.Conditions{path(exact, "/a?x=1")}},
		{"write /a", route.Conditions{path(exact, "/a#x")}},
		{"write /a/b", route.Conditions{path(exact, `/a\b`)}},
		{"write /a%7Bid%7D", route.Conditions{path(exact, "/a{id}")}},
		{"refused", route.Conditions{path(exact, "/a%00")}},
		{"write /item/[0-9]+", route.Conditions{path(full, "item/[0-9]+")}},
		{"write /item/[0-9]+", route.Conditions{path(full, "^item/[0-9]+$")}},
		{"write /a, and match the query", route.Conditions{path(full, `/a\?x=.*`)}},
		{"decoded", route.Conditions{path(full, `/a/\.\./b`)}},
		{"decoded", route.Conditions{path(full, `/a/[.]{1,2}/b`)}},
		{"decoded", route.Conditions{path(full, `/a b`)}},
		{"decoded", route.Conditions{path(full, `/a$b`)}},
		{"decoded", route.Conditions{path(full, `/%6[1-5]x`)}},
		{"write a%20b", route.Conditions{query(exact, "a b")}},
		{"write a%23b", route.Conditions{query(exact, "a#b")}},
		{"write a%26b", route.Conditions{query(exact, "a&b")}},
		{"expression", route.Conditions{query(full, "a b+")}},
		{"q%26v", route.Conditions{matches.On(route.OnQuery, route.Present, "q&v", "")}},
		{`write "v"`, route.Conditions{header(exact, " v ")}},
		{`write "v"`, route.Conditions{header(bytes, "  v")}},
		{"expression", route.Conditions{header(full, " v")}},
		{"semicolon", route.Conditions{cookie(exact, "a;b")}},
		{"sidecars remove", route.Conditions{matches.On(route.OnHeader, exact, "x-envoy-max-retries", "1")}},
		{"contradict", route.Conditions{path(exact, "/a"), path(segment, "/b")}},
		{"rule of its own", route.Conditions{path(segment, "/a"), path(full, "/(b|c).*")}},
		{"rule of its own", route.Conditions{path(full, "/a.*"), path(full, ".*/b"), path(full, ".*/c")}},
		{"rule of its own", route.Conditions{query(exact, "a"), query(exact, "b")}},
		{"rule of its own", route.Conditions{query(full, "a+"), query(full, "b+")}},
		{"contradict", route.Conditions{header(exact, "a"), matches.Absent("x-a")}},
		{"contradict", route.Conditions{matches.Method("GET"), matches.Method("PUT")}},

		{"", route.Conditions{path(exact, "/a%2Fb")}},
		{"", route.Conditions{path(exact, "/a//b")}},
		{"", route.Conditions{path(exact, "/a%20b")}},
		{"", route.Conditions{path(exact, "/a/...")}},
		{"", route.Conditions{path(bytes, "/a/..")}}, // /a/..b
		{"", route.Conditions{path(bytes, "/a/%6")}},
		{"", route.Conditions{path(exact, "/a;b=1,2@c:[d]!$&'()*+~")}},
		{"", route.Conditions{path(full, ".*/item/[0-9]+")}},
		{"", route.Conditions{path(full, "^/item/[0-9]+$")}},
		{"", route.Conditions{path(full, `(?i)/A\b.*`)}},
		{"", route.Conditions{path(full, `/a/[^/]+/b(\?.*)?`)}},
		{"", route.Conditions{query(exact, "a%20b")}},
		{"", route.Conditions{query(exact, "a+b")}},
		{"", route.Conditions{query(full, "(?i)on|true")}},
		{"", route.Conditions{header(exact, "a b")}},
		{"", route.Conditions{header(exact, "")}},
		{"", route.Conditions{header(exact, "caf\xe9")}},
		{"", route.Conditions{header(exact, "a"), header(exact, "b")}}, // sent twice
		{"", route.Conditions{header(full, "a.*"), header(full, ".*b")}},
		{"", route.Conditions{cookie(exact, `a b`)}},
		{"", route.Conditions{matches.Must(route.Has(route.OnHeader, "x-envoy-max-retries", route.Not))}},
		{"", route.Conditions{matches.Must(route.Compare(route.OnHeader, "x-a", exact, route.Not, " v "))}},
		{"", route.Conditions{path(segment, "/a"), path(full, "/(a|b)/.*")}},
		{"", route.Conditions{matches.On(route.OnAuthority, full, "", `(a|b)\.example\.com(:[0-9]+)?`)}},
	} {
		why := x.cs.Unmet(route.Read)
		if x.want == "" && why != "" || x.want != "" && !strings.Contains(why, x.want) {
			t.Errorf("%s: %q, want %q", x.cs.Text(), why, x.want)
		}
	}
	for how, never := range map[route.Reading][]string{route.Merged: {"/a//b"}, route.Judged: {"/a//b", "/a%2Fb", "/a%5cb"}} {
		for _, v := range never {
			if why := (route.Conditions{path(exact, v)}).Unmet(how); why == "" {
				t.Errorf("%s: may be met", v)
			}
		}
		if why := (route.Conditions{path(exact, "/a%25b/")}).Unmet(how); why != "" {
			t.Error(why)
		}
	}
}

// TestUnmetIsSound: of conditions that are said to be met by no request none holds.
func TestUnmetIsSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cs, r := anyConditions(t), anyRequest(t)
		if why := cs.Unmet(route.Read); why != "" && r.Path != "*" && cs.Holds(r) {
			t.Fatalf("%s holds, though %s", cs.Text(), why)
		}
	})
}

// TestExpressionsThatMeetNothing: whether texts are in several expressions is known as it is by trying.
func TestExpressionsThatMeetNothing(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"a", "b", "/", "[ab]", "a*", "(ab)?", "a|b", "^", "$", `\b`, ".", "b{2}", "(?i:A)"})
	expression := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "") })
	var texts []string
	for n, last := 0, []string{""}; n < 6; n++ {
		var next []string
		for _, text := range last {
			for _, c := range []string{"a", "b", "/"} {
				next = append(next, text+c)
			}
		}
		texts, last = append(texts, next...), next
	}
	rapid.Check(t, func(t *rapid.T) {
		var cs route.Conditions
		for _, e := range rapid.SliceOfN(expression, 1, 2).Draw(t, "expressions") {
			c, err := route.MatchAll(route.OnQuery, "q", 0, e)
			if err != nil {
				t.Skip("an expression that is refused")
			}
			cs = append(cs, c)
		}
		met := cs.Holds(&route.Request{Query: "q="})
		for _, text := range texts {
			met = met || cs.Holds(&route.Request{Query: "q=" + text})
		}
		if why := cs.Unmet(route.Read); met != (why == "") {
			t.Fatalf("%s: met %v, and it says %q", cs.Text(), met, why)
		}
	})
}
