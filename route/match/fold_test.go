package match_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/route/match"
)

// TestExpressionsOfASCII: what (?i) does beyond ASCII leaves an expression what it is
// for ASCII, however its parts are written.
func TestExpressionsOfASCII(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{
		"a", "K", "1", "(", "(?i)", "(?i:", "(?-i:", "(?is-m)", "(?P<n>", "(?:", ")", ")?", "|", "*", ".", `\.`, `\(`, `\Q(?i)\E`, `\Q[`, `\E`, `\101`, `\x41`, `\x{4B}`, `\xC9`, `\b`,
		"[Ka]", "[]a]", "[^]a]", `[\]a]`, "[[:^alpha:][]", `[\pL\xE9]`, `[^\PL]`, `[^a\x{c9}]`, `\W`, `\pL`, `\p{Lu}`, `\P{Lu}`, `\d`,
	})
	legal := rapid.Map(rapid.SliceOfN(part, 1, 8), func(parts []string) string { return strings.Join(parts, "") }).
		Filter(func(source string) bool { return match.CheckRegex("", source) == nil })
	rapid.Check(t, func(t *rapid.T) {
		source := legal.Draw(t, "source")
		c, err := match.MatchAll(match.OnHeader, "x", 0, source)
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		re := regexp.MustCompile("(?s)" + source)
		re.Longest()
		value := rapid.StringOfN(rapid.SampledFrom([]rune("aAkK.1([]?i)")), 0, 4, -1).Draw(t, "value")
		got := c.Holds(&match.Request{Header: func(string) []string { return []string{value} }})
		found := re.FindStringIndex(value)
		if want := found != nil && found[1]-found[0] == len(value); got != want {
			t.Errorf("%q on %q: %v", source, value, got)
		}
	})
}

// TestCaseBeyondASCII: Envoy takes (?i) for the letters of ASCII alone, in the group in
// which it stands, whatever is escaped, quoted or listed there.
func TestCaseBeyondASCII(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, holds, fails string }{
		{`(?i)k\xC9`, "K\xC9", "K\xE9"},
		{`(?i)k\x{C9}`, "K\xC9", "K\xE9"},
		{`(?i)k[\xC9]`, "K\xC9", "K\xE9"},
		{`(?i)k\)\xC9`, "K)\xC9", "K)\xE9"},
		{`(?i:k\)\xC9)`, "K)\xC9", "K)\xE9"},
		{`(?i:k\(\xC9)`, "K(\xC9", "K(\xE9"},
		{`(?i:k)\(k\xC9`, "K(k\xC9", "K(K\xC9"},
		{`(?i:\Qk)\E\xC9)`, "K)\xC9", "K)\xE9"},
		{`(?i:[)]k\xC9)`, ")K\xC9", ")K\xE9"},
		{`(?i:[]\])]k\xC9)`, ")K\xC9", ")K\xE9"},
		{`(?i:\051k\xC9)`, ")K\xC9", ")K\xE9"},
		{`(?i)\101\xC9`, "a\xC9", "a\xE9"},
		{`(?i)(?-i:k)\xC9`, "k\xC9", "K\xC9"},
		{`(?i)\d\pL\W\xC9`, "1k.\xC9", "1k.\xE9"},
		{`((?i)k)k\xC9`, "Kk\xC9", "KK\xC9"},
	} {
		m, err := match.MatchAll(match.OnHeader, "x", 0, c.source)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		for value, want := range map[string]bool{c.holds: true, c.fails: false} {
			if got := m.Holds(&match.Request{Header: func(string) []string { return []string{value} }}); got != want {
				t.Errorf("%s on %q: %v", c.source, value, got)
			}
		}
	}
}
