package matchers

import (
	"regexp"
	"testing"
)

// TestExpressionsOfPathsSeeNoQuery: an expression is for the path alone, whatever characters it takes; the query may
// be there, and is not for it.
func TestExpressionsOfPathsSeeNoQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		takes  []string
		leaves []string
	}{
		{`/[!-z]*z`, []string{"/z", "/az", "/z?q", "/>@z"}, []string{"/a?z", "/a"}},
		{`/[?-z]*z`, []string{"/z", "/@z"}, []string{"/a?z"}},
		{`/[!-?]*=`, []string{"/!>=", "/="}, []string{"/!?="}},
		{`/[?]`, nil, []string{"/?", "/a"}},
		{`/.*z`, []string{"/az", "/az?q=1"}, []string{"/a?z"}},
		{`/[^a]*`, []string{"/b", "/b?a"}, []string{"/a?b", "/ba"}},
		{`/a$`, []string{"/a", "/a?b"}, []string{"/ab"}},
	} {
		re := regexp.MustCompile("^(?:" + withQuery(c.source) + ")$")
		for _, path := range c.takes {
			if !re.MatchString(path) {
				t.Errorf("%s, written as %s, does not take %s", c.source, re, path)
			}
		}
		for _, path := range c.leaves {
			if re.MatchString(path) {
				t.Errorf("%s, written as %s, takes %s", c.source, re, path)
			}
		}
	}
}
