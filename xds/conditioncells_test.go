package xds_test

import (
	"testing"

	"github.com/weftmesh/weft/route"
)

// values are what the subject of a text condition has in a request; nil is
// missing, several are repeated lines.
var values = [][]string{
	nil, {""}, {"ab"}, {"AB"}, {"aB"}, {"abc"}, {"xab"}, {"xabx"}, {"a"}, {"b"}, {"ab", "x"}, {"x", "ab"}, {"x", "y"}, {"ab,x"}, {"", "ab"},
	{"a\xe9"}, {"a\xc9"}, {"\xc9"}, {"a\u00e9"}, {"5"}, {"9"}, {"10"}, {"+7"}, {"-1"}, {"07"}, {"7x"}, {"9223372036854775807"},
}

// operands are what each operator compares with.
var operands = map[route.Op][]string{
	route.Equal: {"ab", "Ab", ""}, route.BytePrefix: {"ab", "Ab"}, route.Suffix: {"ab", "AB"}, route.Contains: {"ab", "B", ","},
	route.FullMatch: {"ab", "a.*", "a.", "a..", "(?i)ab", "a|ab", "^ab$", "x,ab|ab,x", ".*", "[^b]*",
		`a\pL`, `(?i)a\xE9`, `(?i)a[\xC0-\xCF]`, `(?i)a[^\xC9]`, `a[\xC9\xE9]`, `(?i)(A(?-i:\xC9))|A[\311b]`, `(?i)a\P{Lu}`, `(?i)[A\p{Lu}]+`, `(?i)a[[:^alpha:]]`, `(?i:A).`},
}

// cellCases are conditions of every legal cell with requests that tell them apart.
func cellCases(t *testing.T) []cellCase {
	var out []cellCase
	for cell := range route.Cells {
		for _, c := range conditionsOf(t, cell.On, cell.Op, cell.Mode) {
			out = append(out, cellCase{cellName(cell), route.Conditions{c}, requestsFor(cell.On)})
		}
	}
	return append(out, together(t)...)
}

func conditionsOf(t *testing.T, s route.Subject, o route.Op, m route.Modifier) []route.Condition {
	c := must(t)
	name := map[route.Subject]string{route.OnHeader: "X-C", route.OnQuery: "q", route.OnCookie: "ck", route.OnClaim: "sub"}[s]
	var out []route.Condition
	switch {
	case s == route.OnChance: // TestChanceInEnvoy
	case s == route.OnPath:
		for _, v := range map[route.Op][]string{
			route.Equal: {"/", "/a", "/a/"}, route.SegmentPrefix: {"/", "/a", "/a/", "/a/b"}, route.BytePrefix: {"/", "/a", "/a/"},
			route.FullMatch: {"/a.*", "/a/?", "/(a|b)/.", ".*b", "/%61"},
		}[o] {
			if o == route.FullMatch {
				out = append(out, c(route.MatchAll(s, "", m, v)))
			} else {
				out = append(out, c(route.Compare(s, "", o, m, v)))
			}
		}
	case o == route.OneOf:
		out = append(out, c(route.Among(s, name, "GET", "PUT")))
	case o == route.Present:
		out = append(out, c(route.Has(s, name, m)))
	case o == route.InRange:
		out = append(out, c(route.Within(s, name, 5, 10)), c(route.Within(s, name, -1, 1)))
	case s == route.OnMethod:
		out = append(out, c(route.Compare(s, "", o, m, "GET")))
	case s == route.OnAuthority && o == route.Equal:
		out = append(out, c(route.Compare(s, "", o, m, "web.example")))
	case s == route.OnAuthority:
		out = append(out, c(route.MatchAll(s, "", m, `[a-z0-9]([-a-z0-9]*[a-z0-9])?\.example(:[0-9]+)?`)))
	case o == route.FullMatch:
		for _, v := range operands[o] {
			out = append(out, c(route.MatchAll(s, name, m, v)))
		}
	default:
		for _, v := range operands[o] {
			out = append(out, c(route.Compare(s, name, o, m, v)))
		}
	}
	return out
}

func requestsFor(s route.Subject) []cellRequest {
	var out []cellRequest
	add := func(method, host, path string, lines ...string) {
		out = append(out, cellRequest{method, host, path, lines})
	}
	switch s {
	case route.OnPath:
		for _, path := range []string{"/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/b", "/a?x=/b", "/?a", "/A", "/%61", "/a//b", "//a", "/b/b", "/x/a"} {
			add("GET", "web", path)
		}
	case route.OnMethod:
		for _, method := range []string{"GET", "PUT", "POST", "HEAD", "DELETE"} {
			add(method, "web", "/")
		}
	case route.OnAuthority:
		for _, host := range []string{"web.example", "WEB.example", "web.example:80", "a.web.example", "example", "x.example"} {
			add("GET", host, "/")
		}
	case route.OnQuery:
		for _, query := range []string{"", "?", "?q", "?q=", "?q=ab", "?q=AB", "?q=abc", "?q=xab", "?q=xabx", "?q=x&q=ab", "?q=ab&q=x", "?Q=ab", "?x&q=ab", "?q=a%62", "?q=a+b",
			"?q=ab=c", "?qq=ab", "?q=ab;x", "?%71=ab", "?q=x,ab"} {
			add("GET", "web", "/"+query)
		}
	case route.OnCookie:
		for _, line := range []string{"ck=ab", "ck=AB", "ck=abc", "ck=", "ck", "x=1; ck=ab", "x=1;ck=ab", "ck=x; ck=ab", "ck=ab; ck=x", `ck="ab"`, "ck= ab", "ck =ab", "xck=ab", "ck=ab;", "ck=a b", "ck=ab=c", "; ck=ab"} {
			add("GET", "web", "/", "cookie: "+line)
		}
		add("GET", "web", "/")
		add("GET", "web", "/", "cookie: x=1", "cookie: ck=ab")
		add("GET", "web", "/", "cookie: ck=x", "cookie: ck=ab")
	default:
		name := "x-c"
		if s == route.OnClaim {
			name = "x-claim-sub"
		}
		for _, list := range values {
			if s == route.OnClaim && len(list) > 1 {
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
	onPath := func(o route.Op, v string) route.Condition { return c(route.Compare(route.OnPath, "", o, 0, v)) }
	expression := func(v string) route.Condition { return c(route.MatchAll(route.OnPath, "", 0, v)) }
	under := onPath(route.SegmentPrefix, "/a")
	return []cellCase{
		{"", route.Conditions{under, expression(".*b.*")}, requestsFor(route.OnPath)},
		{"", route.Conditions{under, onPath(route.Equal, "/a")}, requestsFor(route.OnPath)},
		{"", route.Conditions{expression("/.*"), onPath(route.SegmentPrefix, "/a/b")}, requestsFor(route.OnPath)},
		{"", route.Conditions{expression("/.*"), onPath(route.SegmentPrefix, "/")}, requestsFor(route.OnPath)},
		{"", route.Conditions{expression("/.*"), onPath(route.BytePrefix, "/a")}, requestsFor(route.OnPath)},
		{"", route.Conditions{under, expression(`/a/b|/a`), expression(`/.`)}, requestsFor(route.OnPath)},
		{"", route.Conditions{under, expression(`^/a$|^/[^c]*b$`)}, requestsFor(route.OnPath)},
		{"", route.Conditions{under, expression(`/a(/b|\?x=/b)?`)}, requestsFor(route.OnPath)},
		{"", route.Conditions{under, expression(`(?i)/A(/.*)?\b`)}, requestsFor(route.OnPath)},
		{"", route.Conditions{under, expression(`/[[:ascii:]]+`)}, requestsFor(route.OnPath)},
		{"", route.Conditions{c(route.Compare(route.OnHeader, "x-c", route.Contains, 0, "a")), c(route.Compare(route.OnHeader, "x-c", route.Contains, 0, "b"))}, requestsFor(route.OnHeader)},
		{"", route.Conditions{c(route.Has(route.OnHeader, "x-c", 0)), c(route.Compare(route.OnHeader, "x-c", route.Equal, route.Not, "ab"))}, requestsFor(route.OnHeader)},
	}
}
