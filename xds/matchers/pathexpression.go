package matchers

import (
	"regexp/syntax"
	"slices"
	"unicode"

	"github.com/weftmesh/weft/route/match"
)

// withQuery is an expression for the header :path, which has the query too, that
// matches where source matches the path alone. An end of text that source asserts
// anywhere but at its end is taken as never reached.
func withQuery(source string) string {
	const query = `(?s:\?.*)?`
	re, err := syntax.Parse(match.Bytewise(source), syntax.Perl)
	if err != nil { // conditions are made of expressions that compile
		panic(err)
	}
	var b []byte
	for _, r := range pathOnly(re, true).String() { // bytes again, as they came
		b = append(b, byte(r))
	}
	return "(?:" + string(b) + ")" + query
}

// nothing matches no header: none holds a zero byte. Envoy has no empty class.
func nothing() *syntax.Regexp { return &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{0}} }

// pathOnly takes the question mark out of everything that re matches: no path has
// one, and what follows it is not for re. Tail says that nothing follows re.
func pathOnly(re *syntax.Regexp, tail bool) *syntax.Regexp {
	switch re.Op {
	case syntax.OpNoMatch:
		return nothing()
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '?') {
			return nothing()
		}
	case syntax.OpCharClass:
		re.Rune = without('?', re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return &syntax.Regexp{Op: syntax.OpCharClass, Rune: []rune{0, '?' - 1, '?' + 1, unicode.MaxRune}}
	case syntax.OpEndText, syntax.OpEndLine:
		if tail {
			return &syntax.Regexp{Op: syntax.OpEmptyMatch}
		}
		return nothing()
	}
	last := re.Op == syntax.OpConcat
	repeats := re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat
	for i, sub := range re.Sub {
		re.Sub[i] = pathOnly(sub, tail && !repeats && (!last || i == len(re.Sub)-1))
	}
	return re
}

// without removes one character from ranges of characters.
func without(r rune, ranges []rune) []rune {
	var out []rune
	for i := 0; i < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if r < lo || hi < r {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}
