package match_test

import (
	"testing"

	"github.com/weftmesh/weft/route/match"
)

// Cookies are read as Envoy reads them: the first of a name counts, and a value
// in quotes is what stands between them.
func TestCookies(t *testing.T) {
	t.Parallel()
	const missing = "(none)"
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{`c=1`}, "1"},
		{[]string{`a=0; c=1; c=2`}, "1"},
		{[]string{`a=0`, `c=1`}, "1"},
		{[]string{`a=0;	c =1`}, missing},
		{[]string{`c=`}, ""},
		{[]string{`c=""`}, ""},
		{[]string{`c="`}, `"`},
		{[]string{`c="1"`}, "1"},
		{[]string{`c="1`}, `"1`},
		{[]string{`c=1"`}, `1"`},
		{[]string{`c=a=b`}, "a=b"},
		{[]string{`c`}, missing},
		{[]string{`c; c=1`}, "1"},
		{[]string{`C=1`}, missing},
		{nil, missing},
	} {
		r := &match.Request{Header: func(name string) []string {
			if name != "cookie" {
				return nil
			}
			return c.lines
		}}
		present, err := match.Has(match.OnCookie, "c", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := present.Holds(r); got != (c.want != missing) {
			t.Errorf("%q: present %v", c.lines, got)
		}
		for _, value := range []string{"", "1", `"`, `"1`, `1"`, `""`, `"1"`, "a=b"} {
			equal, err := match.Compare(match.OnCookie, "c", match.Equal, 0, value)
			if err != nil {
				t.Fatal(err)
			}
			if got := equal.Holds(r); got != (c.want == value) {
				t.Errorf("%q: is %q: %v", c.lines, value, got)
			}
		}
	}
}
