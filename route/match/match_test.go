package match_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/route/match"
)

// anyConditions draws a few of any legal cells.
func anyConditions(t *rapid.T) match.Conditions {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) match.Condition { return anyCell(t, 0) }), 0, 4).Draw(t, "conditions")
}

// A match and what its view says are one, whatever cells it has.
func TestAMatchSurvivesItsView(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := match.Match{Conditions: anyConditions(t)}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var again match.Match
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, one := range [][2]match.Conditions{{m.Conditions, again.Conditions}, {again.Conditions, m.Conditions}} {
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
		match      match.Match
		view, text string
	}{
		{match.Match{}, `{}`, "any path"},
		{match.CatchAll, `{"path":{"value":"/","type":"PathPrefix"}}`, "PathPrefix /"},
		{matches.Of(on(match.OnPath, match.Equal, "", "/a"), matches.Method("GET")), `{"path":{"value":"/a","type":"Exact"},"method":"GET"}`, "GET Exact /a"},
		{matches.Path(match.FullMatch, "/<.*>"), `{"path":{"value":"/<.*>","type":"RegularExpression"}}`, "RegularExpression /<.*>"},
		{matches.Of(on(match.OnHeader, match.Equal, "x-a", ""), on(match.OnHeader, match.FullMatch, "x-b", "1+"), on(match.OnHeader, match.BytePrefix, "x-c", "a")),
			`{"headers":[{"type":"Exact","name":"x-a"},{"type":"RegularExpression","name":"x-b","value":"1+"},{"type":"Prefix","name":"x-c","value":"a"}]}`,
			"x-a= x-b~1+ x-c^=a"},
		{matches.Of(on(match.OnHeader, match.Present, "x-a", ""), matches.Absent("x-b")),
			`{"headers":[{"type":"Present","name":"x-a"},{"type":"Absent","name":"x-b"}]}`, "has x-a no x-b"},
		{matches.Of(on(match.OnQuery, match.Equal, "q", ""), on(match.OnQuery, match.FullMatch, "r", "1+")),
			`{"queryParams":[{"type":"Exact","name":"q","value":""},{"type":"RegularExpression","name":"r","value":"1+"}]}`, "?q= ?r~1+"},
		{matches.Of(on(match.OnCookie, match.Equal, "c", "1"), must(match.Compare(match.OnHeader, "x-a", match.Equal, match.Not|match.MissingIsEmpty, "1"))),
			`{"conditions":[{"on":"cookie","type":"Exact","name":"c","value":"1"},{"on":"header","type":"Exact","name":"x-a","value":"1","not":true,"missingIsEmpty":true}]}`,
			`cookie c is "1" header x-a is not "1", a missing one being empty`},
		{matches.Of(must(match.Among(match.OnMethod, "", "GET", "PUT")), must(match.Within(match.OnChance, "", 0, 5))),
			`{"conditions":[{"on":"method","type":"OneOf","values":["GET","PUT"]},{"on":"chance","type":"Range","until":5}]}`,
			"method is one of GET, PUT chance is in the range from 0 until 5"},
		{matches.Of(on(match.OnPath, match.Equal, "", "/a"), on(match.OnPath, match.Equal, "", "/b"), on(match.OnHeader, match.Suffix, "x", "1")),
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
		var m match.Match
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
		var m, again match.Match
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
		if r.Path == "*" || !cs.Implies(ds) {
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
	root, none := match.CatchAll, match.Match{}
	both := func(c ...match.Condition) [2]match.Match {
		return [2]match.Match{matches.Of(c...), matches.Of(append(c, root.Conditions...)...)}
	}
	for _, pair := range [][2]match.Match{{root, none}, both(matches.Method("GET")), both(matches.Absent("x"), matches.Method("GET")),
		{matches.Path(match.BytePrefix, "/"), none}} {
		a, b := pair[0], pair[1]
		if !a.Implies(b.Conditions) || !b.Implies(a.Conditions) || a.Everything() != b.Everything() {
			t.Errorf("%s and %s are told apart", a.Text(), b.Text())
		}
		if p, q := a.Path(), b.Path(); p.Value != "/" || q.Value != "/" {
			t.Errorf("the paths are %s and %s", p.Text(), q.Text())
		}
	}
	regex := matches.Path(match.FullMatch, "/x.*")
	if !none.Implies(regex.Conditions) || !root.Implies(regex.Conditions) || regex.Implies(none.Conditions) {
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
		condition match.Condition
		segments  string
		ok        bool
	}{
		{matches.On(match.OnPath, match.SegmentPrefix, "", "/a"), "/a", true},
		{matches.On(match.OnPath, match.SegmentPrefix, "", "/a/"), "/a", true},
		{*match.CatchAll.Path(), "", true},
		{matches.On(match.OnPath, match.Equal, "", "/a/"), "/a/", true},
		{matches.On(match.OnPath, match.FullMatch, "", "/a"), "/a", false},
		{matches.On(match.OnPath, match.BytePrefix, "", "/a"), "/a", true},
		{matches.On(match.OnPath, match.BytePrefix, "", "/a/"), "/a", true},
		{matches.Method("GET"), "", false},
	} {
		if segments, ok := x.condition.Replaces(); ok != x.ok || ok && segments != x.segments {
			t.Errorf("%s: %q, %v", x.condition.Text(), segments, ok)
		}
	}
}
