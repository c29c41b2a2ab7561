package route_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/route"
)

// anyConditions draws a few of any legal cells.
func anyConditions(t *rapid.T) route.Conditions {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) route.Condition { return anyCell(t, 0) }), 0, 4).Draw(t, "conditions")
}

// A match and what its view says are one, whatever cells it has.
func TestAMatchSurvivesItsView(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := route.Match{Conditions: anyConditions(t)}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var again route.Match
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, one := range [][2]route.Conditions{{m.Conditions, again.Conditions}, {again.Conditions, m.Conditions}} {
			for _, c := range one[0] {
				if !slices.ContainsFunc(one[1], c.Equal) {
					t.Fatalf("%s: %s became %s", text, m.Text(), again.Text())
				}
			}
		}
		if r := anyRequest(t); m.Holds(r) != again.Holds(r) {
			t.Fatalf("%s: %s became %s", text, m.Text(), again.Text())
		}
	})
}

// The forms that the contract promises, and the texts that people read.
func TestViewsOfMatches(t *testing.T) {
	t.Parallel()
	on, must := matches.On, matches.Must
	for _, x := range []struct {
		match      route.Match
		view, text string
	}{
		{route.Match{}, `{}`, "any path"},
		{route.CatchAll, `{"path":{"value":"/","type":"PathPrefix"}}`, "PathPrefix /"},
		{matches.Of(on(route.OnPath, route.Equal, "", "/a"), matches.Method("GET")), `{"path":{"value":"/a","type":"Exact"},"method":"GET"}`, "GET Exact /a"},
		{matches.Path(route.FullMatch, "/<.*>"), `{"path":{"value":"/<.*>","type":"RegularExpression"}}`, "RegularExpression /<.*>"},
		{matches.Of(on(route.OnHeader, route.Equal, "x-a", ""), on(route.OnHeader, route.FullMatch, "x-b", "1+"), on(route.OnHeader, route.BytePrefix, "x-c", "a")),
			`{"headers":[{"type":"Exact","name":"x-a"},{"type":"RegularExpression","name":"x-b","value":"1+"},{"type":"Prefix","name":"x-c","value":"a"}]}`,
			"x-a= x-b~1+ x-c^=a"},
		{matches.Of(on(route.OnHeader, route.Present, "x-a", ""), matches.Absent("x-b")),
			`{"headers":[{"type":"Present","name":"x-a"},{"type":"Absent","name":"x-b"}]}`, "has x-a no x-b"},
		{matches.Of(on(route.OnQuery, route.Equal, "q", ""), on(route.OnQuery, route.FullMatch, "r", "1+")),
			`{"queryParams":[{"type":"Exact","name":"q","value":""},{"type":"RegularExpression","name":"r","value":"1+"}]}`, "?q= ?r~1+"},
		{matches.Of(on(route.OnCookie, route.Equal, "c", "1"), must(route.Compare(route.OnHeader, "x-a", route.Equal, route.Not|route.MissingIsEmpty, "1"))),
			`{"conditions":[{"on":"cookie","type":"Exact","name":"c","value":"1"},{"on":"header","type":"Exact","name":"x-a","value":"1","not":true,"missingIsEmpty":true}]}`,
			`cookie c is "1" header x-a is not "1", a missing one being empty`},
		{matches.Of(must(route.Among(route.OnMethod, "", "GET", "PUT")), must(route.Within(route.OnChance, "", 0, 5))),
			`{"conditions":[{"on":"method","type":"OneOf","values":["GET","PUT"]},{"on":"chance","type":"Range","until":5}]}`,
			"method is one of GET, PUT chance is in the range from 0 until 5"},
		{matches.Of(on(route.OnPath, route.Equal, "", "/a"), on(route.OnPath, route.Equal, "", "/b"), on(route.OnHeader, route.Suffix, "x", "1")),
			`{"path":{"value":"/a","type":"Exact"},"conditions":[{"on":"path","type":"Exact","value":"/b"},{"on":"header","type":"Suffix","name":"x","value":"1"}]}`,
			"Exact /a Exact /b x$=1"},
	} {
		if got := plain(t, x.match); got != x.view || x.match.Short() != x.text {
			t.Errorf("got  %s, %s\nwant %s, %s", got, x.match.Short(), x.view, x.text)
		}
	}
}

// plain is v as JSON for people, which writes < as it is.
func plain(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// What no constructor takes is read from no view: it is never taken for 'equal'.
func TestViewsThatAreWrong(t *testing.T) {
	t.Parallel()
	for view, about := range map[string]string{
		`{"path":{"value":"/a","type":"Glob"}}`:                                             "Glob",
		`{"path":{"value":"/(","type":"RegularExpression"}}`:                                "path /(",
		`{"headers":[{"type":"exact","name":"x-a","value":"1"}]}`:                           "x-a",
		`{"queryParams":[{"type":"Absent","name":"q"}]}`:                                    "queryParam q",
		`{"conditions":[{"on":"moon","type":"Exact","value":"full"}]}`:                      "moon",
		`{"conditions":[{"on":"method","type":"OneOf","values":["GET","PUT"],"not":true}]}`: "method",
	} {
		var m route.Match
		if err := json.Unmarshal([]byte(view), &m); err == nil || !strings.Contains(err.Error(), about) {
			t.Errorf("%s: got %v, want an error about %s", view, err, about)
		}
	}
}

// FuzzMatchView: what is read of a view is shown and read again alike.
func FuzzMatchView(f *testing.F) {
	f.Add(`{"path":{"value":"/v1","type":"PathPrefix"},"method":"GET","headers":[{"type":"Prefix","name":"X-A","value":""}],"queryParams":[{"type":"Exact","name":"q","value":"1"}]}`)
	f.Add(`{"conditions":[{"on":"method","type":"OneOf","values":["b","a","b"]},{"on":"header","type":"Absent","name":"x"},{"on":"path","type":"Prefix","value":"/"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var m, again route.Match
		if json.Unmarshal([]byte(text), &m) != nil {
			return
		}
		view, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(view, &again); err != nil {
			t.Fatalf("%s: %v", view, err)
		}
		if once := plain(t, again); once != plain(t, m) || m.Short() == "" || m.Everything() != again.Everything() {
			t.Fatalf("%s was shown as %s, then as %s", text, view, once)
		}
	})
}

// What several conditions cover, they hold of, whether they name a path or not.
func TestConditionsCoverSoundly(t *testing.T) {
	t.Parallel()
	covered := 0
	rapid.Check(t, func(t *rapid.T) {
		cs, r := anyConditions(t), anyRequest(t)
		ds := append(anyConditions(t), cs[:rapid.IntRange(0, len(cs)).Draw(t, "taken over")]...)
		if r.Path == "*" || !cs.Covers(ds) {
			return
		}
		covered++
		if ds.Holds(r) && !cs.Holds(r) {
			t.Fatalf("%q is said to cover %q, but %+v", cs.Text(), ds.Text(), r)
		}
	})
	if covered == 0 {
		t.Error("nothing covered anything")
	}
}

// No path and the prefix / are one.
func TestNoPathIsThePrefixOfAll(t *testing.T) {
	t.Parallel()
	root, none := route.CatchAll, route.Match{}
	both := func(c ...route.Condition) [2]route.Match {
		return [2]route.Match{matches.Of(c...), matches.Of(append(c, root.Conditions...)...)}
	}
	for _, pair := range [][2]route.Match{{root, none}, both(matches.Method("GET")), both(matches.Absent("x"), matches.Method("GET")),
		{matches.Path(route.BytePrefix, "/"), none}} {
		a, b := pair[0], pair[1]
		if !a.Covers(b.Conditions) || !b.Covers(a.Conditions) || a.Everything() != b.Everything() {
			t.Errorf("%s and %s are told apart", a.Text(), b.Text())
		}
		if p, q := a.Path(), b.Path(); p.Value != "/" || q.Value != "/" {
			t.Errorf("the paths are %s and %s", p.Text(), q.Text())
		}
	}
	regex := matches.Path(route.FullMatch, "/x.*")
	if !none.Covers(regex.Conditions) || !root.Covers(regex.Conditions) || regex.Covers(none.Conditions) {
		t.Error("every path is under /, and not every one is another")
	}
	if !root.Everything() || regex.Everything() || matches.Of(matches.Method("GET")).Everything() {
		t.Error("the wrong matches take everything")
	}
}

// What a rewrite of the prefix replaces.
func TestReplacedSegments(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		condition route.Condition
		segments  string
		ok        bool
	}{
		{matches.On(route.OnPath, route.SegmentPrefix, "", "/a"), "/a", true},
		{matches.On(route.OnPath, route.SegmentPrefix, "", "/a/"), "/a", true},
		{*route.CatchAll.Path(), "", true},
		{matches.On(route.OnPath, route.Equal, "", "/a/"), "/a/", true},
		{matches.On(route.OnPath, route.FullMatch, "", "/a"), "/a", false},
		{matches.On(route.OnPath, route.BytePrefix, "", "/a"), "/a", true},
		{matches.On(route.OnPath, route.BytePrefix, "", "/a/"), "/a", true},
		{matches.Method("GET"), "", false},
	} {
		if segments, ok := x.condition.Replaces(); ok != x.ok || ok && segments != x.segments {
			t.Errorf("%s: %q, %v", x.condition.Text(), segments, ok)
		}
	}
}
