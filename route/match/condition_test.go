package match_test

import (
	"math"
	"math/bits"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/route/match"
)

// words are few, so that conditions and requests often meet.
var words = []string{"a", "A", "ab", "abc", "b", "/", "/a", "/a/", "/a/b", "/ab", "5", ""}

// anyCell draws a condition of one legal cell, of the subject if one is given.
func anyCell(t *rapid.T, on match.Subject) match.Condition {
	var cells []match.Cell
	for c := range match.Cells {
		if on == 0 || c.On == on {
			cells = append(cells, c)
		}
	}
	type made struct {
		condition match.Condition
		err       error
	}
	word := rapid.SampledFrom(words)
	any := rapid.Custom(func(t *rapid.T) made {
		from := rapid.Int64Range(-2, 9).Draw(t, "from")
		c, err := condition(rapid.SampledFrom(cells).Draw(t, "cell"), rapid.SampledFrom([]string{"x", "x", "y"}).Draw(t, "name"),
			word.Draw(t, "value"), from, from+rapid.Int64Range(1, 5).Draw(t, "width"))
		return made{c, err}
	})
	return any.Filter(func(m made) bool { return m.err == nil }).Draw(t, "condition").condition
}

func condition(cell match.Cell, name, value string, from, until int64) (match.Condition, error) {
	if cell.On != match.OnHeader && cell.On != match.OnQuery && cell.On != match.OnCookie && cell.On != match.OnClaim {
		name = ""
	}
	switch cell.Op {
	case match.Present:
		return match.Has(cell.On, name, cell.Mode)
	case match.OneOf:
		return match.Among(cell.On, name, value, "GET")
	case match.InRange:
		return match.Within(cell.On, name, from, until)
	case match.FullMatch:
		return match.MatchAll(cell.On, name, cell.Mode, value+"b?")
	}
	return match.Compare(cell.On, name, cell.Op, cell.Mode, value)
}

func anyRequest(t *rapid.T) *match.Request {
	word := rapid.SampledFrom(words)
	headers := map[string][]string{
		"x": rapid.SliceOfN(word, 0, 2).Draw(t, "x"), "y": rapid.SliceOfN(word, 0, 1).Draw(t, "y"),
		"cookie": {"x=" + word.Draw(t, "cookie")},
	}
	claim := word.Draw(t, "claim")
	return &match.Request{
		Method: rapid.SampledFrom([]string{"GET", "a", "PUT"}).Draw(t, "method"), Authority: word.Draw(t, "authority"),
		Path:   rapid.SampledFrom([]string{"/", "/a", "/a/", "/a/b", "/ab", "/abc/b", "*"}).Draw(t, "path"),
		Query:  rapid.SampledFrom([]string{"", "x", "x=a", "x=ab&y=b", "y=A"}).Draw(t, "query"),
		Header: func(name string) []string { return headers[name] },
		Claim:  func(name string) (string, bool) { return claim, name == "x" },
		Draw:   rapid.Int64Range(0, 9).Draw(t, "draw"),
	}
}

// A reason is given for exactly the requests of which a condition does not hold.
func TestWhyNotIsNotHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, r := anyCell(t, 0), anyRequest(t)
		if why := c.WhyNot(r); c.Holds(r) != (why == "") {
			t.Fatalf("%s: holds %v, and the reason is %q", c.Text(), c.Holds(r), why)
		}
	})
}

// What a condition covers, it holds of: explanations may call a route shadowed.
func TestImpliesIsSound(t *testing.T) {
	t.Parallel()
	covered := 0
	rapid.Check(t, func(t *rapid.T) {
		c := anyCell(t, 0)
		d, r := anyCell(t, c.On), anyRequest(t)
		if !c.Implies(&d) {
			return
		}
		covered++
		if d.Holds(r) && !c.Holds(r) {
			t.Fatalf("%q is said to cover %q, but %+v", c.Text(), d.Text(), r)
		}
	})
	if covered == 0 {
		t.Error("nothing covered anything")
	}
}

// These are worth knowing of: what a route behind another can never get.
func TestImplies(t *testing.T) {
	t.Parallel()
	compare := func(o match.Op, v string) match.Condition {
		c, err := match.Compare(match.OnPath, "", o, 0, v)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	expression := func(v string) match.Condition {
		c, err := match.MatchAll(match.OnPath, "", 0, v)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, x := range []struct {
		c, d match.Condition
		want bool
	}{
		{compare(match.SegmentPrefix, "/a"), compare(match.Equal, "/a/b"), true},
		{compare(match.SegmentPrefix, "/a"), compare(match.Equal, "/ab"), false},
		{compare(match.SegmentPrefix, "/a"), compare(match.SegmentPrefix, "/a/b"), true},
		{compare(match.SegmentPrefix, "/a"), compare(match.BytePrefix, "/a/"), true},
		{compare(match.SegmentPrefix, "/a"), compare(match.BytePrefix, "/a"), false},
		{compare(match.BytePrefix, "/a"), compare(match.SegmentPrefix, "/a"), true},
		{compare(match.BytePrefix, "/a"), compare(match.SegmentPrefix, "/ab"), true},
		{compare(match.SegmentPrefix, "/"), compare(match.SegmentPrefix, "/x"), true},
		{compare(match.Equal, "/a"), compare(match.SegmentPrefix, "/a"), false},
		{compare(match.SegmentPrefix, "/a"), expression("/a/v[0-9]+"), true},
		{compare(match.SegmentPrefix, "/a"), expression("(?:/a/)(b|c).*"), true},
		{compare(match.SegmentPrefix, "/a"), expression("/a/b|/a/cd"), true},
		{compare(match.SegmentPrefix, "/a"), expression("/a[0-9]+"), false},
		{compare(match.SegmentPrefix, "/a"), expression("(?i)/a/v[0-9]+"), false},
		{compare(match.SegmentPrefix, "/a"), expression(".*/a/v[0-9]+"), false},
		{compare(match.BytePrefix, "/a"), expression("/a[0-9]+"), true},
	} {
		if got := x.c.Implies(&x.d); got != x.want {
			t.Errorf("%s covers %s: %v", x.c.Text(), x.d.Text(), got)
		}
	}
}

// What stands in no cell cannot be made, and what does not say anything neither.
func TestIllegalConditionsAreRefused(t *testing.T) {
	t.Parallel()
	legal := map[match.Cell]bool{}
	for c := range match.Cells {
		legal[c] = true
	}
	refused := 0
	for s := match.OnPath; s <= match.OnChance; s++ {
		for o := match.Equal; o <= match.InRange; o++ {
			for m := match.Modifier(0); m < 1<<bits.Len8(uint8(match.MissingIsEmpty)); m++ {
				cell := match.Cell{On: s, Op: o, Mode: m}
				_, err := condition(cell, "x", "/a", 1, 2)
				modifiable := o != match.OneOf && o != match.InRange // whose constructors take no modifier
				if modifiable && (err == nil) != legal[cell] {
					t.Errorf("%v: %v", cell, err)
				}
				if err != nil {
					refused++
				}
			}
		}
	}
	if refused < 200 {
		t.Errorf("only %d cells are refused", refused)
	}
	for name, err := range map[string]error{
		"no slash":        second(match.Compare(match.OnPath, "", match.SegmentPrefix, 0, "a")),
		"bad expression":  second(match.MatchAll(match.OnPath, "", 0, "(")),
		"not bytes":       second(match.MatchAll(match.OnHeader, "x", 0, "é")),
		"too large":       second(match.MatchAll(match.OnPath, "", 0, "(?:abcdefghij){900}")),
		"no expression":   second(match.MatchAll(match.OnPath, "", 0, "")),
		"empty range":     second(match.Within(match.OnHeader, "x", 5, 5)),
		"chance over 1":   second(match.Within(match.OnChance, "", 0, match.Chances+1)),
		"chance below 0":  second(match.Within(match.OnChance, "", -1, 5)),
		"endless range":   second(match.Within(match.OnHeader, "x", 5, math.MaxInt64)),
		"no header name":  second(match.Has(match.OnHeader, "", 0)),
		"a path's name":   second(match.Compare(match.OnPath, "x", match.Equal, 0, "/")),
		"negated nothing": second(match.Compare(match.OnHeader, "x", match.Contains, match.Not, "")),
		"among none":      second(match.Among(match.OnMethod, "")),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func second(_ match.Condition, err error) error { return err }

// The texts that people read.
func TestConditionTexts(t *testing.T) {
	t.Parallel()
	lines := func(string) []string { return []string{"7", "8"} }
	r := &match.Request{Method: "GET", Path: "/v1", Query: "q=x", Header: lines}
	for _, x := range []struct {
		make      func() (match.Condition, error)
		text, why string
	}{
		{func() (match.Condition, error) { return match.Compare(match.OnPath, "", match.SegmentPrefix, 0, "/v2") }, "path is under prefix /v2", "path /v1 is not under prefix /v2"},
		{func() (match.Condition, error) { return match.Compare(match.OnPath, "", match.Equal, 0, "/v2") }, "path is /v2", "path /v1 is not /v2"},
		{func() (match.Condition, error) { return match.MatchAll(match.OnPath, "", 0, "/x.*") }, "path matches the expression /x.*", "path /v1 does not match the expression /x.*"},
		{func() (match.Condition, error) { return match.Among(match.OnMethod, "", "PUT", "POST", "PUT") }, "method is one of POST, PUT", "method GET is none of POST, PUT"},
		{func() (match.Condition, error) { return match.Compare(match.OnHeader, "X-A", match.Equal, 0, "9") }, `header x-a is "9"`, `header x-a is "7" and "8", not "9"`},
		{func() (match.Condition, error) { return match.Compare(match.OnHeader, "x-a", match.BytePrefix, 0, "9") }, `header x-a begins with "9"`, `header x-a is "7" and "8", which does not begin with "9"`},
		{func() (match.Condition, error) {
			return match.Compare(match.OnHeader, "x-a", match.Equal, match.Not|match.IgnoreCase, "8")
		}, `header x-a is not "8", ignoring case`, `header x-a is "7" and "8", and the condition is that it is not "8"`},
		{func() (match.Condition, error) { return match.Has(match.OnHeader, "x-a", match.Not) }, "header x-a is missing", "header x-a is present"},
		{func() (match.Condition, error) { return match.Within(match.OnHeader, "x-a", 1, 5) }, "header x-a is in the range from 1 until 5", `header x-a is "7" and "8", which is not in the range from 1 until 5`},
		{func() (match.Condition, error) { return match.Has(match.OnQuery, "p", 0) }, "query parameter p is present", "query parameter p is missing"},
	} {
		c, err := x.make()
		if err != nil {
			t.Fatal(err)
		}
		if c.Text() != x.text || c.WhyNot(r) != x.why {
			t.Errorf("got %q, %q; want %q, %q", c.Text(), c.WhyNot(r), x.text, x.why)
		}
	}
	both := match.Conditions{}
	for _, name := range []string{"a", "b"} {
		c, _ := match.Has(match.OnHeader, name, 0)
		both = append(both, c)
	}
	if got := both.Text(); !strings.Contains(got, "header a is present and header b is present") {
		t.Error(got)
	}
}
