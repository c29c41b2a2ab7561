package xds_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/routes"
)

func text(s string) *string { return &s }

func prefixRewrite(to string) route.Filter {
	return route.Filter{Rewrite: &route.Rewrite{Path: &route.PathRewrite{Prefix: &to}}}
}

func fullRewrite(to string) route.Filter {
	return route.Filter{Rewrite: &route.Rewrite{Path: &route.PathRewrite{Full: &to}}}
}

// TestPathsInEnvoy holds spec/kuma.md 2.1 and the table of spec/gateway-api.md
// 2.4 against a real Envoy: which route takes a path, and what becomes of it.
func TestPathsInEnvoy(t *testing.T) {
	t.Parallel()
	var tables []*effective.Table
	var cases []struct{ path, route, becomes string }
	add := func(r *effective.Route, path, want, becomes string) {
		tables = append(tables, table(r))
		cases = append(cases, struct{ path, route, becomes string }{path, want, becomes})
	}
	foo, root := path(match.SegmentPrefix, "/foo"), path(match.SegmentPrefix, "/")
	for _, p := range []struct{ path, route string }{
		{"/foo", "r"}, {"/foo/", "r"}, {"/foo/bar?x=1", "r"}, {"/foobar", "rest"}, {"/fo", "rest"}, {"/foo?x=1", "r"},
	} {
		add(rule("r", foo), p.path, p.route, p.path)
	}
	add(rule("r", path(match.Equal, "/a")), "/a/", "rest", "/a/")
	add(rule("r", path(match.Equal, "/a")), "/a?q", "r", "/a?q")
	add(rule("r", path(match.FullMatch, "/a.")), "/ab", "r", "/ab")
	add(rule("r", path(match.FullMatch, "/a.")), "/abc", "rest", "/abc")
	for _, p := range []struct{ path, replacement, becomes string }{
		{"/foo/bar", "/xyz", "/xyz/bar"}, {"/foo/bar", "/xyz/", "/xyz/bar"}, {"/foo", "/xyz", "/xyz"}, {"/foo/", "/xyz", "/xyz/"},
		{"/foo/bar", "", "/bar"}, {"/foo", "", "/"}, {"/foo/", "/", "/"}, {"/foo", "/", "/"}, {"/foo/bar?q=/foo/", "/", "/bar?q=/foo/"},
		{"/foo?q", "", "/?q"}, {"/foo/?q", "/", "/?q"}, {"/foo//b", "", "//b"}, {"/foo/foo/b", "/", "/foo/b"}, {"/foo/bar?q", "/xyz/", "/xyz/bar?q"}, {"/foo?q", "/xyz", "/xyz?q"},
		{"/foo/a%20b", `/x\1`, `/x\1/a%20b`}, {"/foo", `/x\1%20`, `/x\1%20`}, {"/foo//b", "/x", "/x//b"},
	} {
		add(rule("r", foo, prefixRewrite(p.replacement)), p.path, "r", p.becomes)
	}
	special := path(match.SegmentPrefix, "/f.o+(a)")
	add(rule("r", special, prefixRewrite("/")), "/f.o+(a)/b", "r", "/b")
	add(rule("r", special, prefixRewrite("")), "/f.o+(a)", "r", "/")
	add(rule("r", special, prefixRewrite("")), "/fxo(a)/b", "rest", "/fxo(a)/b")
	add(rule("r", root, prefixRewrite("/x")), "/y", "r", "/x/y")
	add(rule("r", root, prefixRewrite("/x")), "/", "r", "/x/")
	add(rule("r", root, prefixRewrite("/")), "/y", "r", "/y")
	for _, p := range []struct{ prefix, path, replacement, becomes string }{
		{"/foo", "/foo/bar", "/xyz", "/xyz/bar"}, {"/foo", "/foobar", "/xyz", "/xyzbar"}, {"/foo", "/foobar", "/", "/bar"}, {"/foo", "/foo/bar?q", "/", "/bar?q"},
		{"/foo", "/foo", "/", "/"}, {"/foo", "/foo", "/xyz/", "/xyz"}, {"/foo", "/foo?q", "", "/?q"}, {"/foo", "/foobar", "/xyz/", "/xyzbar"},
		{"/foo/", "/foo/type", "/bar", "/bar/type"}, {"/foo/", "/foo/type", "/", "/type"}, {"/foo/", "/foo/", "/bar/", "/bar/"}, {"/foo/", "/foo//b", "/bar", "/bar//b"},
		{"/", "/y", "/x", "/x/y"}, {"/", "/y", "/", "/y"},
	} {
		add(rule("r", path(match.BytePrefix, p.prefix), prefixRewrite(p.replacement)), p.path, "r", p.becomes)
	}
	for _, p := range []struct{ prefix, path, replacement, becomes string }{
		{"/", "/y?q", "/x", "/xy?q"}, {"/", "/y", "/x/", "/x/y"}, {"/foo", "/foo/bar", "/x/", "/x//bar"}, {"/foo/", "/foo/bar", "/x", "/xbar"}, {"/foo", "/foobar", "", "/bar"},
	} {
		literal := prefixRewrite(p.replacement)
		literal.Rewrite.Path.Literal = true
		add(rule("r", path(match.BytePrefix, p.prefix), literal), p.path, "r", p.becomes)
	}
	add(rule("r", foo, fullRewrite("/z")), "/foo/bar?q", "r", "/z?q")
	add(rule("r", foo, fullRewrite("")), "/foo", "r", "/")
	add(rule("r", path(match.FullMatch, "/f.*"), fullRewrite("/z")), "/foo", "r", "/z")
	for _, e := range []struct{ expression, with, path, becomes string }{
		{"^/api/?", "/", "/api/foo?q=/api/", "/foo?q=/api/"}, {"^/api/?", "/", "/api", "/"}, {"o", "0", "/foo/oo", "/f00/00"},
		{"/(a+)/(b*)", `/\2/\1/\0\\`, "/aa/bb", `/bb/aa//aa/bb\`}, {"/x*", "/-", "/xa/", "/-a/-"}, {"(?i)FOO", "$1", "/foo", "/$1"},
		{"b|(c)", `[\1]`, "/abc", "/a[][c]"}, {"/z", "/y", "/foo", "/foo"},
	} {
		each := route.Replacement{Expression: e.expression, With: e.with}
		if before, _, _ := strings.Cut(e.path, "?"); !strings.HasPrefix(e.becomes, each.In(before)) {
			t.Errorf("%s of %q is %q, want %q", e.path, each, each.In(before), e.becomes)
		}
		add(rule("r", root, route.Filter{Rewrite: &route.Rewrite{Path: &route.PathRewrite{Each: &each}}}), e.path, "r", e.becomes)
	}

	o := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(tables...))
	for i, c := range cases {
		a, err := o.Ask(i, envoytest.Question{Method: "GET", Host: "web", Path: c.path})
		if err != nil {
			t.Fatal(err)
		}
		if a.Route != c.route || len(a.Attempts) != 1 || a.Attempts[0].Path != c.becomes {
			t.Errorf("%s: route %q, attempts %v, status %d; want route %q and path %q", c.path, a.Route, a.Attempts, a.Status, c.route, c.becomes)
		}
	}
}

// TestMatchesInEnvoy holds the parts of a match beside the path.
func TestMatchesInEnvoy(t *testing.T) {
	t.Parallel()
	header := func(op match.Op, value string) match.Match {
		return matches.Of(matches.On(match.OnHeader, op, "x-a", value))
	}
	query := func(op match.Op, value string) match.Match {
		return matches.Of(matches.On(match.OnQuery, op, "q", value))
	}
	a := func(v ...string) http.Header { return http.Header{"X-A": v} }
	cases := []struct {
		match  match.Match
		method string
		path   string
		header http.Header
		hit    bool
	}{
		{matches.Of(matches.Method("POST")), "POST", "/", nil, true},
		{matches.Of(matches.Method("POST")), "GET", "/", nil, false},
		{header(match.Equal, "1"), "GET", "/", a("1"), true},
		{header(match.Equal, "1"), "GET", "/", a("12"), false},
		{header(match.Equal, "1,2"), "GET", "/", a("1,2"), true},
		{header(match.Equal, "2"), "GET", "/", a("1", "2"), true}, // lines of one name are compared one by one
		{header(match.Equal, "1,2"), "GET", "/", a("1", "2"), false},
		{header(match.FullMatch, "1.*"), "GET", "/", a("12"), true},
		{header(match.FullMatch, "1.*"), "GET", "/", a("012"), false},
		{header(match.BytePrefix, "1"), "GET", "/", a("12"), true},
		{header(match.BytePrefix, ""), "GET", "/", a("12"), true},
		{header(match.BytePrefix, ""), "GET", "/", nil, false},
		{header(match.Present, ""), "GET", "/", a("x"), true},
		{header(match.Present, ""), "GET", "/", nil, false},
		{matches.Of(matches.Absent("x-a")), "GET", "/", nil, true},
		{matches.Of(matches.Absent("x-a")), "GET", "/", a("x"), false},
		{query(match.Equal, "1"), "GET", "/?q=1", nil, true},
		{query(match.Equal, "1"), "GET", "/?q=2&q=1", nil, false},
		{query(match.Equal, ""), "GET", "/?q", nil, true},
		{query(match.FullMatch, "1+"), "GET", "/?q=11", nil, true},
		{query(match.FullMatch, "1+"), "GET", "/?q=211", nil, false},
		{query(match.FullMatch, ".*"), "GET", "/", nil, false},
	}
	var tables []*effective.Table
	for _, c := range cases {
		tables = append(tables, table(rule("r", c.match)))
	}
	o := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(tables...))
	for i, c := range cases {
		got, err := o.Ask(i, envoytest.Question{Method: c.method, Host: "web", Path: c.path, Headers: c.header})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{true: "r", false: "rest"}[c.hit]; got.Route != want {
			t.Errorf("%+v with %s %s %v: route %q, want %q", c.match, c.method, c.path, c.header, got.Route, want)
		}
	}
}

// TestRedirectsInEnvoy holds what a redirect keeps and what it replaces.
func TestRedirectsInEnvoy(t *testing.T) {
	t.Parallel()
	foo := path(match.SegmentPrefix, "/foo")
	cases := []struct {
		redirect route.Redirect
		path     string
		status   int
		location string
	}{
		{route.Redirect{Hostname: "example.org"}, "/foo/a?b=c", 302, "http://example.org/foo/a?b=c"},
		{route.Redirect{Hostname: "example.org", Status: 301}, "/foo", 301, "http://example.org/foo"},
		{route.Redirect{Scheme: "https", Status: 303}, "/foo", 303, "https://web:8080/foo"},
		{route.Redirect{Port: 9000, Status: 307}, "/foo", 307, "http://web:9000/foo"},
		{route.Redirect{Path: &route.PathRewrite{Full: text("/z")}, Status: 308}, "/foo/x?q", 308, "http://web:8080/z?q"},
		{route.Redirect{Path: &route.PathRewrite{Each: &route.Replacement{Expression: "o", With: "/"}}}, "/foo/o?o", 302, "http://web:8080/f////?o"},
		{route.Redirect{Path: &route.PathRewrite{Prefix: text("/z")}}, "/foo/x?q", 302, "http://web:8080/z/x?q"},
		{route.Redirect{Path: &route.PathRewrite{Prefix: text("/z/")}}, "/foo?q", 302, "http://web:8080/z?q"},
		{route.Redirect{Path: &route.PathRewrite{Prefix: text("/z")}}, "/foo/", 302, "http://web:8080/z/"},
		{route.Redirect{Path: &route.PathRewrite{Prefix: text("/")}}, "/foo", 302, "http://web:8080/"},
		{route.Redirect{Path: &route.PathRewrite{Prefix: text("")}}, "/foo/?q", 302, "http://web:8080/?q"},
		{route.Redirect{Path: &route.PathRewrite{Prefix: text("/")}}, "/foo/bar?q", 302, "http://web:8080/bar?q"},
	}
	var tables []*effective.Table
	for _, c := range cases {
		r := rule("r", foo)
		r.Answer, r.Backends = &c.redirect, nil
		tables = append(tables, table(r))
	}
	o := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(tables...))
	for i, c := range cases {
		got, err := o.Ask(i, envoytest.Question{Method: "GET", Host: "web:8080", Path: c.path})
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != c.status || got.Headers.Get("Location") != c.location {
			t.Errorf("%+v: %d to %q, want %d to %q", c.redirect, got.Status, got.Headers.Get("Location"), c.status, c.location)
		}
	}
}

// TestHeadersInEnvoy: filters act one after the other, a percent sign is a
// percent sign, and an empty value is a value.
func TestHeadersInEnvoy(t *testing.T) {
	t.Parallel()
	request := func(m route.HeaderModifier) route.Filter { return route.Filter{RequestHeaders: &m} }
	response := func(m route.HeaderModifier) route.Filter { return route.Filter{ResponseHeaders: &m} }
	h := func(name, value string) []route.Header { return []route.Header{{Name: name, Value: value}} }
	r := rule("r", path(match.SegmentPrefix, "/"),
		request(route.HeaderModifier{Set: h("x-set", "100%{x}"), Add: h("x-add", "2"), Remove: []string{"x-gone"}}),
		request(route.HeaderModifier{Set: h("x-twice", "1")}), request(route.HeaderModifier{Add: h("x-twice", "2")}),
		request(route.HeaderModifier{Add: h("x-late", "1")}), request(route.HeaderModifier{Set: h("x-late", "2")}),
		request(route.HeaderModifier{Set: h("x-unset", "1")}), request(route.HeaderModifier{Remove: []string{"X-Unset"}}),
		request(route.HeaderModifier{Set: h("x-empty", "")}),
		response(route.HeaderModifier{Set: h(envoytest.NameHeader, "me"), Add: h("x-b", "%REQ(:path)%"), Remove: []string{"x-echo-attempt"}}),
	)
	o := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(table(r)))
	got, err := o.Ask(0, envoytest.Question{Method: "GET", Host: "web", Path: "/", Headers: http.Header{
		"X-Set": {"old"}, "X-Add": {"1"}, "X-Gone": {"1"}, "X-Late": {"0"}, "X-Unset": {"0"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"X-Set": {"100%{x}"}, "X-Add": {"1", "2"}, "X-Twice": {"1", "2"}, "X-Late": {"2"}, "X-Empty": {""}, "X-Gone": nil, "X-Unset": nil,
	}
	have := map[string][]string{}
	for name := range want {
		have[name] = got.Attempts[0].Headers[name]
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("request headers (-want +got):\n%s", d)
	}
	if b := got.Headers.Get("X-B"); b != "%REQ(:path)%" {
		t.Errorf("a percent sign in a response header became %q", b)
	}
}

// TestSharesInEnvoy: a backend that cannot be used keeps its share, which fails.
func TestSharesInEnvoy(t *testing.T) {
	t.Parallel()
	with := func(b ...effective.Backend) *effective.Table {
		r := rule("r", path(match.SegmentPrefix, "/"))
		r.Backends = b
		return table(r)
	}
	cases := []struct {
		table    *effective.Table
		statuses map[int]bool
		clusters map[string]bool
	}{
		{with(to("v1", 9), to("v2", 1)), map[int]bool{200: true}, map[string]bool{"v1": true, "v2": true}},
		{with(to("v1", 1), broken(1)), map[int]bool{200: true, 500: true}, map[string]bool{"v1": true, "": true}},
		{with(broken(1), broken(2)), map[int]bool{500: true}, map[string]bool{"": true}},
		{with(to("v1", 0), to("v2", 0)), map[int]bool{500: true}, map[string]bool{"": true}},
		{with(to("v1", 0), to("v2", 1)), map[int]bool{200: true}, map[string]bool{"v2": true}},
		{with(to("v1", 4294967295), to("v2", 4294967295)), map[int]bool{200: true}, map[string]bool{"v1": true, "v2": true}},
	}
	var tables []*effective.Table
	for _, c := range cases {
		tables = append(tables, c.table)
	}
	o := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(tables...))
	for i, c := range cases {
		statuses, clusters := map[int]bool{}, map[string]bool{}
		for range 150 {
			a, err := o.Ask(i, envoytest.Question{Method: "GET", Host: "web", Path: "/"})
			if err != nil {
				t.Fatal(err)
			}
			statuses[a.Status], clusters[a.Cluster] = true, true
		}
		if d := cmp.Diff(c.statuses, statuses) + cmp.Diff(c.clusters, clusters); d != "" {
			t.Errorf("split %d (-want +got):\n%s", i, d)
		}
	}
	if n := routes.RenderTable(tables[5], nil).Notes; len(n) != 1 || n[0].Code != "WeightsScaled" {
		t.Errorf("weights over the limit need a note, got %v", n)
	}
}
