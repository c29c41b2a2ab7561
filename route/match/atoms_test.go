package match

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAtomsAreTheSameInOtherWords: what asks the same has the same atoms, whatever words it
// has for it, and what asks something else has others.
func TestAtomsAreTheSameInOtherWords(t *testing.T) {
	t.Parallel()
	compare := func(op Op, value string) Condition {
		return must(Compare(OnPath, "", op, 0, value))
	}
	expression := func(text string) Condition { return must(MatchAll(OnPath, "", 0, text)) }
	for name, c := range map[string]struct {
		a    []Condition
		b    [][]Condition // each gives some of the atoms
		same bool
	}{
		"every path":                {[]Condition{expression("/.*")}, [][]Condition{{compare(SegmentPrefix, "/")}}, true},
		"some paths":                {[]Condition{expression("/v.*")}, [][]Condition{{compare(SegmentPrefix, "/")}}, false},
		"segments":                  {[]Condition{compare(SegmentPrefix, "/a")}, [][]Condition{{compare(Equal, "/a")}, {compare(BytePrefix, "/a/")}}, true},
		"segments, the path alone":  {[]Condition{compare(SegmentPrefix, "/a")}, [][]Condition{{compare(Equal, "/a")}}, false},
		"segments of an expression": {[]Condition{expression("/w/[^/]+(?:/.*)?")}, [][]Condition{{expression("/w/[^/]+")}, {expression("/w/[^/]+/.*")}}, true},
		"segments as an expression": {[]Condition{expression("/a(?:/.*)?")}, [][]Condition{{compare(SegmentPrefix, "/a")}}, true},
		"a choice of methods": {[]Condition{must(Among(OnMethod, "", "GET", "PUT"))},
			[][]Condition{{must(Compare(OnMethod, "", Equal, 0, "PUT"))}, {must(Compare(OnMethod, "", Equal, 0, "GET"))}}, true},
	} {
		var parts []string
		for _, b := range c.b {
			parts = append(parts, keysOf(b)...)
		}
		slices.Sort(parts)
		if diff := cmp.Diff(keysOf(c.a), parts); (diff == "") != c.same {
			t.Errorf("%s: same is %v\n%s", name, diff == "", diff)
		}
	}
}

func keysOf(cs Conditions) []string {
	var out []string
	for _, a := range cs.Atoms() {
		out = append(out, a.Key())
	}
	slices.Sort(out)
	return out
}

func must(c Condition, err error) Condition {
	if err != nil {
		panic(err)
	}
	return c
}
