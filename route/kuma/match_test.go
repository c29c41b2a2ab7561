package kuma_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/kuma"
	"github.com/weftmesh/weft/route/match"
)

// read is what the dialect makes of the matches of one rule.
func read(list ...kuma.Match) (route.Rule, []api.Note) {
	spec := &kuma.HTTPRoute{To: []kuma.To{{TargetRef: api.TargetRef{Kind: "MeshService", Name: "web"}, Rules: []kuma.Rule{{Matches: list}}}}}
	o := kuma.Dialect.Read(&api.Object{Ref: api.Ref{Kind: "MeshHTTPRoute", Mesh: "m", Name: "r"}, Spec: spec}, nil)
	return o.Entries[0].Rules[0], o.Notes
}

// model is one match, of which the dialect has nothing to say.
func model(t interface{ Fatalf(string, ...any) }, m kuma.Match) *match.Match {
	r, notes := read(m)
	if len(r.Matches) != 1 || len(notes) > 0 {
		t.Fatalf("%+v: %v", m, notes)
	}
	return &r.Matches[0]
}

// anyMatch draws a match from few values, so that ties happen.
func anyMatch(t *rapid.T) kuma.Match {
	var m kuma.Match
	if rapid.Bool().Draw(t, "path") {
		m.Path = &kuma.PathMatch{
			Type:  rapid.SampledFrom([]kuma.PathType{kuma.Exact, kuma.Prefix, kuma.Regex}).Draw(t, "type"),
			Value: rapid.SampledFrom([]string{"/", "/a", "/b", "/a/b"}).Draw(t, "value"),
		}
	}
	m.Method = rapid.SampledFrom([]string{"", "GET", "POST"}).Draw(t, "method")
	for i := range rapid.IntRange(0, 2).Draw(t, "headers") {
		h := kuma.HeaderMatch{Type: rapid.SampledFrom([]string{"", "Exact", "Prefix", "RegularExpression", "Present", "Absent"}).Draw(t, "type"), Name: strconv.Itoa(i)}
		if h.Type != "Present" && h.Type != "Absent" {
			h.Value = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "value")
		}
		m.Headers = append(m.Headers, h)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "queries") {
		m.Query = append(m.Query, kuma.QueryMatch{Type: rapid.SampledFrom([]string{"Exact", "RegularExpression"}).Draw(t, "type"), Name: strconv.Itoa(i), Value: "a"})
	}
	return m
}

func sign(n int) int { return max(-1, min(1, n)) }

// The order of matches is a strict weak order: sorting by it has one answer.
func TestCompareIsAnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := model(t, anyMatch(t)), model(t, anyMatch(t)), model(t, anyMatch(t))
		ab, bc, ac := kuma.Compare(a, b), kuma.Compare(b, c), kuma.Compare(a, c)
		if kuma.Compare(a, a) != 0 {
			t.Fatal("not reflexive")
		}
		if sign(ab) != -sign(kuma.Compare(b, a)) {
			t.Fatal("not antisymmetric")
		}
		if ab < 0 && bc < 0 && ac >= 0 {
			t.Fatal("not transitive")
		}
		if ab == 0 && bc == 0 && ac != 0 {
			t.Fatal("ties are not transitive")
		}
		if ab == 0 && sign(ac) != sign(bc) {
			t.Fatal("a tie is no tie for others")
		}
	})
}

// The matches stand in the order of spec/kuma.md 2.1, E4 included.
func TestOrderOfMatches(t *testing.T) {
	t.Parallel()
	p := func(typ kuma.PathType, value string) *kuma.PathMatch {
		return &kuma.PathMatch{Type: typ, Value: value}
	}
	h := []kuma.HeaderMatch{{Name: "a"}, {Name: "b"}}
	q := []kuma.QueryMatch{{Type: "Exact", Name: "a"}}
	compare := func(a, b kuma.Match) int { return kuma.Compare(model(t, a), model(t, b)) }
	sorted := []kuma.Match{
		{Path: p(kuma.Exact, "/a"), Method: "GET"},
		{Path: p(kuma.Exact, "/exact"), Headers: h},
		{Path: p(kuma.Exact, "/exact"), Headers: h[:1], Query: q},
		{Path: p(kuma.Exact, "/exact"), Headers: h[:1]},
		{Path: p(kuma.Exact, "/exact")},
		{Path: p(kuma.Prefix, "/prefix/plusmore")},
		{Path: p(kuma.Prefix, "/prefix")},
		{Headers: h[:1]},
		{Path: p(kuma.Prefix, "/")},
		{Path: p(kuma.Regex, "/exact.*")},
		{Path: p(kuma.Regex, "/.*")},
	}
	for i := range sorted[1:] {
		if compare(sorted[i], sorted[i+1]) >= 0 {
			t.Errorf("match %d does not come before the next", i)
		}
	}
	if compare(kuma.Match{}, kuma.Match{Path: p(kuma.Prefix, "/")}) != 0 {
		t.Error("no path is not prefix /")
	}
	if compare(kuma.Match{Path: p(kuma.Exact, "/long")}, kuma.Match{Path: p(kuma.Exact, "/a")}) != 0 {
		t.Error("exact paths are compared by length")
	}
}

// A match that nothing can be asked takes nothing, and its object is told; the
// other matches of the rule stand, and the rule keeps its key.
func TestAMatchThatCannotBeAskedTakesNothing(t *testing.T) {
	t.Parallel()
	good := kuma.Match{Method: "GET"}
	for want, bad := range map[string]kuma.Match{
		"path":              {Method: "GET", Path: &kuma.PathMatch{Type: "Glob", Value: "/a"}},
		"missing closing":   {Path: &kuma.PathMatch{Type: kuma.Regex, Value: "/("}},
		"slash":             {Path: &kuma.PathMatch{Type: kuma.Prefix, Value: "a"}},
		"header x-a":        {Headers: []kuma.HeaderMatch{{Type: "Odd", Name: "x-a", Value: "1"}}},
		"header ":           {Headers: []kuma.HeaderMatch{{Type: "Present"}}},
		"query parameter q": {Method: "GET", Query: []kuma.QueryMatch{{Type: "", Name: "q", Value: "1"}}},
	} {
		r, notes := read(bad, good)
		if len(r.Matches) != 1 || r.Matches[0].Short() != "GET" {
			t.Errorf("%s: the rule has %v", want, r.Matches)
		}
		if len(notes) != 1 || notes[0].Severity != api.Error || notes[0].Field != "spec.to[0].rules[0].matches[0]" || notes[0].Origin != r.Origin ||
			!strings.Contains(notes[0].Message, want) {
			t.Errorf("%s: notes %v", want, notes)
		}
		composed := compose(r)
		if len(composed.Rows) != 1 || composed.Rows[0].Key != kuma.Key([]kuma.Match{bad, good}) || composed.Default == nil {
			t.Errorf("%s: composed as %v", want, composed.Rows)
		}
		if r, _ := read(bad); len(compose(r).Rows) != 0 {
			t.Errorf("%s: a rule of that match alone becomes %v", want, compose(r).Rows)
		}
	}
}

// What validation lets through can be asked: the two read a document alike.
func TestValidMatchesCanBeAsked(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"", "Exact", "PathPrefix", "Prefix", "RegularExpression", "Present", "Absent", "Suffix", "OneOf"})
	text := rapid.SampledFrom([]string{"", "/", "/a", "/a/", "a", "(", "[a", "a{2,1}", "(?i)A", "\\C", "x-a", "X-A", " ", "GET", "é", "(?P<n>a)\\z"})
	valid := 0
	rapid.Check(t, func(t *rapid.T) {
		m := kuma.Match{Method: rapid.SampledFrom([]string{"", "GET", "get", "é"}).Draw(t, "method")}
		if rapid.Bool().Draw(t, "path") {
			m.Path = &kuma.PathMatch{Type: kuma.PathType(word.Draw(t, "type")), Value: text.Draw(t, "value")}
		}
		if rapid.Bool().Draw(t, "header") {
			m.Headers = []kuma.HeaderMatch{{Type: word.Draw(t, "type"), Name: text.Draw(t, "name"), Value: text.Draw(t, "value")}}
		}
		if rapid.Bool().Draw(t, "query") {
			m.Query = []kuma.QueryMatch{{Type: word.Draw(t, "type"), Name: text.Draw(t, "name"), Value: text.Draw(t, "value")}}
		}
		spec := &kuma.HTTPRoute{To: []kuma.To{{TargetRef: api.TargetRef{Kind: "MeshService", Name: "web"}, Rules: []kuma.Rule{{Matches: []kuma.Match{m}}}}}}
		if api.Refuses(spec.Validate("spec")) {
			return
		}
		valid++
		model(t, m)
	})
	if valid == 0 {
		t.Error("nothing was valid")
	}
}

// compose is what a frontend gets whose only rule is r.
func compose(r route.Rule) route.Composition {
	return kuma.Dialect.Compose(route.Frontend{}, []route.Candidate{{ParsedRoute: &route.ParsedRoute{}, Entry: &route.Entry{Rules: []route.Rule{r}}}})
}

// A rule for everything stands in the place of the implicit route, however it
// says so.
func TestARuleForEverythingLeavesNothingUnmatched(t *testing.T) {
	t.Parallel()
	slash := &kuma.PathMatch{Type: kuma.Prefix, Value: "/"}
	for _, x := range []struct {
		match kuma.Match
		all   bool
	}{
		{kuma.Match{}, true}, {kuma.Match{Path: slash}, true},
		{kuma.Match{Method: "GET"}, false}, {kuma.Match{Path: slash, Method: "GET"}, false},
		{kuma.Match{Path: &kuma.PathMatch{Type: kuma.Exact, Value: "/"}}, false},
	} {
		if r, _ := read(x.match); (compose(r).Default == nil) != x.all {
			t.Errorf("%s leaves something unmatched: %v", r.Matches[0].Short(), x.all)
		}
	}
}

// Whatever comparing the words of two matches can tell, their conditions tell:
// no shadow is lost in translation.
func TestConditionsCoverWhatWordsCover(t *testing.T) {
	t.Parallel()
	covered := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyMatch(t), anyMatch(t)
		if rapid.Bool().Draw(t, "alike") { // else it is rare that one covers the other
			b.Method, b.Path = a.Method, a.Path
		}
		if !wordsCover(a, b) {
			return
		}
		covered++
		if x, y := model(t, a), model(t, b); !x.Implies(y.Conditions) {
			t.Fatalf("%s does not cover %s", x.Short(), y.Short())
		}
	})
	if covered == 0 {
		t.Error("nothing covered anything")
	}
}

func wordsCover(a, b kuma.Match) bool {
	if a.Method != "" && a.Method != b.Method {
		return false
	}
	for _, h := range a.Headers {
		if !slices.Contains(b.Headers, h) {
			return false
		}
	}
	for _, q := range a.Query {
		if !slices.Contains(b.Query, q) {
			return false
		}
	}
	slash := &kuma.PathMatch{Type: kuma.Prefix, Value: "/"}
	p, q := slash, slash
	if a.Path != nil {
		p = a.Path
	}
	if b.Path != nil {
		q = b.Path
	}
	prefix := strings.TrimSuffix(p.Value, "/")
	switch {
	case *p == *q:
		return true
	case p.Type != kuma.Prefix:
		return false
	case q.Type == kuma.Regex:
		return prefix == ""
	}
	return q.Value == prefix || strings.HasPrefix(q.Value, prefix+"/")
}
