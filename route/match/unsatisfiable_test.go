package match_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/route/match"
)

// TestUnmet: what no request has is known, with what to write; what some have is not taken for it.
func TestUnmet(t *testing.T) {
	t.Parallel()
	path := func(op match.Op, v string) match.Condition { return matches.On(match.OnPath, op, "", v) }
	query := func(op match.Op, v string) match.Condition { return matches.On(match.OnQuery, op, "v", v) }
	header := func(op match.Op, v string) match.Condition { return matches.On(match.OnHeader, op, "x-a", v) }
	cookie := func(op match.Op, v string) match.Condition { return matches.On(match.OnCookie, op, "c", v) }
	const exact, segment, bytes, full = match.Equal, match.SegmentPrefix, match.BytePrefix, match.FullMatch
	for _, x := range []struct {
		want string // what it says to write; empty: it can be met
		cs   match.Conditions
	}{
		{"write /b", match.Conditions{path(exact, "/a/../b")}},
		{"write /b", match.Conditions{path(segment, "/a/../b")}},
		{"write /a/", match.Conditions{path(exact, "/a/.")}},
		{"write /ex", match.Conditions{path(exact, "/%65x")}},
		{"write /a%20b", match.Conditions{path(exact, "/a b")}},
		{"write /a, and match the query", match.Conditions{path(exact, "/a?x=1")}},
		{"write /a", match.Conditions{path(exact, "/a#x")}},
		{"write /a/b", match.Conditions{path(exact, `/a\b`)}},
		{"write /a%7Bid%7D", match.Conditions{path(exact, "/a{id}")}},
		{"refused", match.Conditions{path(exact, "/a%00")}},
		{"write /item/[0-9]+", match.Conditions{path(full, "item/[0-9]+")}},
		{"write /item/[0-9]+", match.Conditions{path(full, "^item/[0-9]+$")}},
		{"write /a, and match the query", match.Conditions{path(full, `/a\?x=.*`)}},
		{"decoded", match.Conditions{path(full, `/a/\.\./b`)}},
		{"decoded", match.Conditions{path(full, `/a/[.]{1,2}/b`)}},
		{"decoded", match.Conditions{path(full, `/a b`)}},
		{"decoded", match.Conditions{path(full, `/a$b`)}},
		{"decoded", match.Conditions{path(full, `/%6[1-5]x`)}},
		{"write a%20b", match.Conditions{query(exact, "a b")}},
		{"write a%23b", match.Conditions{query(exact, "a#b")}},
		{"write a%26b", match.Conditions{query(exact, "a&b")}},
		{"expression", match.Conditions{query(full, "a b+")}},
		{"q%26v", match.Conditions{matches.On(match.OnQuery, match.Present, "q&v", "")}},
		{`write "v"`, match.Conditions{header(exact, " v ")}},
		{`write "v"`, match.Conditions{header(bytes, "  v")}},
		{"expression", match.Conditions{header(full, " v")}},
		{"semicolon", match.Conditions{cookie(exact, "a;b")}},
		{"sidecars remove", match.Conditions{matches.On(match.OnHeader, exact, "x-envoy-max-retries", "1")}},
		{"contradict", match.Conditions{path(exact, "/a"), path(segment, "/b")}},
		{"rule of its own", match.Conditions{path(segment, "/a"), path(full, "/(b|c).*")}},
		{"rule of its own", match.Conditions{path(full, "/a.*"), path(full, ".*/b"), path(full, ".*/c")}},
		{"rule of its own", match.Conditions{query(exact, "a"), query(exact, "b")}},
		{"rule of its own", match.Conditions{query(full, "a+"), query(full, "b+")}},
		{"contradict", match.Conditions{header(exact, "a"), matches.Absent("x-a")}},
		{"contradict", match.Conditions{matches.Method("GET"), matches.Method("PUT")}},

		{"", match.Conditions{path(exact, "/a%2Fb")}},
		{"", match.Conditions{path(exact, "/a//b")}},
		{"", match.Conditions{path(exact, "/a%20b")}},
		{"", match.Conditions{path(exact, "/a/...")}},
		{"", match.Conditions{path(bytes, "/a/..")}}, // /a/..b
		{"", match.Conditions{path(bytes, "/a/%6")}},
		{"", match.Conditions{path(exact, "/a;b=1,2@c:[d]!$&'()*+~")}},
		{"", match.Conditions{path(full, ".*/item/[0-9]+")}},
		{"", match.Conditions{path(full, "^/item/[0-9]+$")}},
		{"", match.Conditions{path(full, `(?i)/A\b.*`)}},
		{"", match.Conditions{path(full, `/a/[^/]+/b(\?.*)?`)}},
		{"", match.Conditions{query(exact, "a%20b")}},
		{"", match.Conditions{query(exact, "a+b")}},
		{"", match.Conditions{query(full, "(?i)on|true")}},
		{"", match.Conditions{header(exact, "a b")}},
		{"", match.Conditions{header(exact, "")}},
		{"", match.Conditions{header(exact, "caf\xe9")}},
		{"", match.Conditions{header(exact, "a"), header(exact, "b")}}, // sent twice
		{"", match.Conditions{header(full, "a.*"), header(full, ".*b")}},
		{"", match.Conditions{cookie(exact, `a b`)}},
		{"", match.Conditions{matches.Must(match.Has(match.OnHeader, "x-envoy-max-retries", match.Not))}},
		{"", match.Conditions{matches.Must(match.Compare(match.OnHeader, "x-a", exact, match.Not, " v "))}},
		{"", match.Conditions{path(segment, "/a"), path(full, "/(a|b)/.*")}},
		{"", match.Conditions{matches.On(match.OnAuthority, full, "", `(a|b)\.example\.com(:[0-9]+)?`)}},
	} {
		why := x.cs.Unmet(match.Read)
		if x.want == "" && why != "" || x.want != "" && !strings.Contains(why, x.want) {
			t.Errorf("%s: %q, want %q", x.cs.Text(), why, x.want)
		}
	}
	for how, never := range map[match.PathNormalization][]string{match.Merged: {"/a//b"}, match.AtPermissions: {"/a//b", "/a%2Fb", "/a%5cb"}} {
		for _, v := range never {
			if why := (match.Conditions{path(exact, v)}).Unmet(how); why == "" {
				t.Errorf("%s: may be met", v)
			}
		}
		if why := (match.Conditions{path(exact, "/a%25b/")}).Unmet(how); why != "" {
			t.Error(why)
		}
	}
}

// TestUnmetIsSound: of conditions that are said to be met by no request none holds.
func TestUnmetIsSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cs, r := anyConditions(t), anyRequest(t)
		if why := cs.Unmet(match.Read); why != "" && r.Path != "*" && cs.Holds(r) {
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
		var cs match.Conditions
		for _, e := range rapid.SliceOfN(expression, 1, 2).Draw(t, "expressions") {
			c, err := match.MatchAll(match.OnQuery, "q", 0, e)
			if err != nil {
				t.Skip("an expression that is refused")
			}
			cs = append(cs, c)
		}
		met := cs.Holds(&match.Request{Query: "q="})
		for _, text := range texts {
			met = met || cs.Holds(&match.Request{Query: "q=" + text})
		}
		if why := cs.Unmet(match.Read); met != (why == "") {
			t.Fatalf("%s: met %v, and it says %q", cs.Text(), met, why)
		}
	})
}
