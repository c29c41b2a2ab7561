package xds_test

import (
	"testing"

	"github.com/weftmesh/weft/route/match"
)

// values are what the subject of a text condition has in a request; nil is
// missing, several are repeated lines.
var values = [][]string{
	nil, {""}, {"ab"}, {"AB"}, {"aB"}, {"abc"}, {"xab"}, {"xabx"}, {"a"}, {"b"}, {"ab", "x"}, {"x", "ab"}, {"x", "y"}, {"ab,x"}, {"", "ab"},
	{"a\xe9"}, {"a\xc9"}, {"\xc9"}, {"a\u00e9"}, {"5"}, {"9"}, {"10"}, {"+7"}, {"-1"}, {"07"}, {"7x"}, {"9223372036854775807"},
}

// operands are what each operator compares with.
var operands = map[match.Op][]string{
	match.Equal: {"ab", "Ab", ""}, match.BytePrefix: {"ab", "Ab"}, match.Suffix: {"ab", "AB"}, match.Contains: {"ab", "B", ","},
	match.FullMatch: {"ab", "a.*", "a.", "a..", "(?i)ab", "a|ab", "^ab$", "x,ab|ab,x", ".*", "[^b]*",
		`a\pL`, `(?i)a\xE9`, `(?i)a[\xC0-\xCF]`, `(?i)a[^\xC9]`, `a[\xC9\xE9]`, `(?i)(A(?-i:\xC9))|A[\311b]`, `(?i)a\P{Lu}`, `(?i)[A\p{Lu}]+`, `(?i)a[[:^alpha:]]`, `(?i:A).`},
}

// cellCases are conditions of every legal cell with requests that tell them apart.
func cellCases(t *testing.T) []cellCase {
	var out []cellCase
	for cell := range match.Cells {
		for _, c := range conditionsOf(t, cell.On, cell.Op, cell.Mode) {
			out = append(out, cellCase{cellName(cell), match.Conditions{c}, requestsFor(cell.On)})
		}
	}
	return append(out, together(t)...)
}

func conditionsOf(t *testing.T, s match.Subject, o match.Op, m match.Modifier) []match.Condition {
	c := must(t)
	name := map[match.Subject]string{match.OnHeader: "X-C", match.OnQuery: "q", match.OnCookie: "ck", match.OnClaim: "sub"}[s]
	var out []match.Condition
	switch {
	case s == match.OnChance: // TestChanceInEnvoy
	case s == match.OnPath:
		for _, v := range map[match.Op][]string{
			match.Equal: {"/", "/a", "/a/"}, match.SegmentPrefix: {"/", "/a", "/a/", "/a/b"}, match.BytePrefix: {"/", "/a", "/a/"},
			match.FullMatch: {"/a.*", "/a/?", "/(a|b)/.", ".*b", "/%61"},
		}[o] {
			if o == match.FullMatch {
				out = append(out, c(match.MatchAll(s, "", m, v)))
			} else {
				out = append(out, c(match.Compare(s, "", o, m, v)))
			}
		}
	case o == match.OneOf:
		out = append(out, c(match.Among(s, name, "GET", "PUT")))
	case o == match.Present:
		out = append(out, c(match.Has(s, name, m)))
	case o == match.InRange:
		out = append(out, c(match.Within(s, name, 5, 10)), c(match.Within(s, name, -1, 1)))
	case s == match.OnMethod:
		out = append(out, c(match.Compare(s, "", o, m, "GET")))
	case s == match.OnAuthority && o == match.Equal:
		out = append(out, c(match.Compare(s, "", o, m, "web.example")))
	case s == match.OnAuthority:
		out = append(out, c(match.MatchAll(s, "", m, `[a-z0-9]([-a-z0-9]*[a-z0-9])?\.example(:[0-9]+)?`)))
	case o == match.FullMatch:
		for _, v := range operands[o] {
			out = append(out, c(match.MatchAll(s, name, m, v)))
		}
	default:
		for _, v := range operands[o] {
			out = append(out, c(match.Compare(s, name, o, m, v)))
		}
	}
	return out
}

func requestsFor(s match.Subject) []cellRequest {
	var out []cellRequest
	add := func(method, host, path string, lines ...string) {
		out = append(out, cellRequest{method, host, path, lines})
	}
	switch s {
	case match.OnPath:
		for _, path := range []string{"/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/b", "/a?x=/b", "/?a", "/A", "/%61", "/a//b", "//a", "/b/b", "/x/a"} {
			add("GET", "web", path)
		}
	case match.OnMethod:
		for _, method := range []string{"GET", "PUT", "POST", "HEAD", "DELETE"} {
			add(method, "web", "/")
		}
	case match.OnAuthority:
		for _, host := range []string{"web.example", "WEB.example", "web.example:80", "a.web.example", "example", "x.example"} {
			add("GET", host, "/")
		}
	case match.OnQuery:
		for _, query := range []string{"", "?", "?q", "?q=", "?q=ab", "?q=AB", "?q=abc", "?q=xab", "?q=xabx", "?q=x&q=ab", "?q=ab&q=x", "?Q=ab", "?x&q=ab", "?q=a%62", "?q=a+b",
			"?q=ab=c", "?qq=ab", "?q=ab;x", "?%71=ab", "?q=x,ab"} {
			add("GET", "web", "/"+query)
		}
	case match.OnCookie:
		for _, line := range []string{"ck=ab", "ck=AB", "ck=abc", "ck=", "ck", "x=1; ck=ab", "x=1;ck=ab", "ck=x; ck=ab", "ck=ab; ck=x", `ck="ab"`, "ck= ab", "ck =ab", "xck=ab", "ck=ab;", "ck=a b", "ck=ab=c", "; ck=ab"} {
			add("GET", "web", "/", "cookie: "+line)
		}
		add("GET", "web", "/")
		add("GET", "web", "/", "cookie: x=1", "cookie: ck=ab")
		add("GET", "web", "/", "cookie: ck=x", "cookie: ck=ab")
	default:
		name := "x-c"
		if s == match.OnClaim {
			name = "x-claim-sub"
		}
		for _, list := range values {
			if s == match.OnClaim && len(list) > 1 {
				continue // a claim is one text
			}
			var lines []string
			for _, v := range list {
				lines = append(lines, name+": "+v)
			}
			add("GET", "web", "/", lines...)
		}
	}
	return out
}

// together are cases of several conditions: a second one on the path goes by the
// header that has the query too.
func together(t *testing.T) []cellCase {
	c := must(t)
	onPath := func(o match.Op, v string) match.Condition { return c(match.Compare(match.OnPath, "", o, 0, v)) }
	expression := func(v string) match.Condition { return c(match.MatchAll(match.OnPath, "", 0, v)) }
	under := onPath(match.SegmentPrefix, "/a")
	return []cellCase{
		{"", match.Conditions{under, expression(".*b.*")}, requestsFor(match.OnPath)},
		{"", match.Conditions{under, onPath(match.Equal, "/a")}, requestsFor(match.OnPath)},
		{"", match.Conditions{expression("/.*"), onPath(match.SegmentPrefix, "/a/b")}, requestsFor(match.OnPath)},
		{"", match.Conditions{expression("/.*"), onPath(match.SegmentPrefix, "/")}, requestsFor(match.OnPath)},
		{"", match.Conditions{expression("/.*"), onPath(match.BytePrefix, "/a")}, requestsFor(match.OnPath)},
		{"", match.Conditions{under, expression(`/a/b|/a`), expression(`/.`)}, requestsFor(match.OnPath)},
		{"", match.Conditions{under, expression(`^/a$|^/[^c]*b$`)}, requestsFor(match.OnPath)},
		{"", match.Conditions{under, expression(`/a(/b|\?x=/b)?`)}, requestsFor(match.OnPath)},
		{"", match.Conditions{under, expression(`(?i)/A(/.*)?\b`)}, requestsFor(match.OnPath)},
		{"", match.Conditions{under, expression(`/[[:ascii:]]+`)}, requestsFor(match.OnPath)},
		{"", match.Conditions{c(match.Compare(match.OnHeader, "x-c", match.Contains, 0, "a")), c(match.Compare(match.OnHeader, "x-c", match.Contains, 0, "b"))}, requestsFor(match.OnHeader)},
		{"", match.Conditions{c(match.Has(match.OnHeader, "x-c", 0)), c(match.Compare(match.OnHeader, "x-c", match.Equal, match.Not, "ab"))}, requestsFor(match.OnHeader)},
	}
}
