package re2_test

import (
	"regexp"
	"testing"

	"github.com/weftmesh/weft/route/match/re2"
)

// TestFoldASCII: an expression that is written anew for Go's package takes what Envoy takes, to which (?i) means the
// letters of ASCII alone; bytes stand as the characters of Latin-1.
func TestFoldASCII(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source       string
		holds, fails []string
	}{
		{`(?i)k\xC9`, []string{"k\u00c9", "K\u00c9"}, []string{"k\u00e9", "\u00c9"}},
		{`(?i)[k\xC9]`, []string{"k", "K", "\u00c9"}, []string{"\u00e9", "\u00e8"}},
		{`(?i)[^k]`, []string{"a", "\u00c9", "\u00e9"}, []string{"k", "K"}},
		{`(?i)[\xE0-\xEF]`, []string{"\u00e9"}, []string{"\u00c9", "e"}},
		{`(?i)[a-c]\d`, []string{"B1", "b1"}, []string{"d1", "Bb"}},
		{`(?i:\xC9)\xC9k`, []string{"\u00c9\u00c9k"}, []string{"\u00e9\u00c9k", "\u00c9\u00c9K"}},
		{`(?i)\bk`, []string{"k", "K"}, []string{"kk"}},
		{`\xC9k`, []string{"\u00c9k"}, []string{"\u00e9k", "\u00c9K"}},
	} {
		re := regexp.MustCompile("^(?:" + re2.FoldASCII(c.source) + ")$")
		for _, value := range c.holds {
			if !re.MatchString(value) {
				t.Errorf("%s, written as %s, does not take %q", c.source, re, value)
			}
		}
		for _, value := range c.fails {
			if re.MatchString(value) {
				t.Errorf("%s, written as %s, takes %q", c.source, re, value)
			}
		}
	}
}
