package match

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// Samples are values of its subject of which the condition holds: the least of them, and one beyond
// it. There are none where none is known, as of an expression that none of the tried ones matches.
func (c *Condition) Samples() []string {
	var out []string
	for _, v := range c.candidates() {
		if c.fits(v) != (c.Mode&Not != 0) && (c.On != OnPath || strings.HasPrefix(v, "/")) && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func (c *Condition) candidates() []string {
	if c.Mode&Not != 0 {
		return []string{"-", c.Value + "-", "0", ""}
	}
	return c.Op.row().samples(c)
}

// mostMatching bounds how many texts are tried for an expression, and longestSample how long one is.
const (
	mostMatching  = 8
	longestSample = 1024
)

// matching are texts that an expression may match, the shortest first as a rule.
func matching(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		return ofClass(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"x"}
	case syntax.OpCapture, syntax.OpPlus:
		return matching(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		return few(append([]string{""}, matching(re.Sub[0])...))
	case syntax.OpRepeat:
		return repeated(matching(re.Sub[0]), re.Min)
	case syntax.OpAlternate:
		var out []string
		for _, sub := range re.Sub {
			out = append(out, matching(sub)...)
		}
		return few(out)
	case syntax.OpConcat:
		out := []string{""}
		for _, sub := range re.Sub {
			out = joined(out, matching(sub))
		}
		return out
	}
	return []string{""} // it is about a place, not about text
}

// ofClass are the first and the last character of the first of some ranges that can be read.
func ofClass(ranges []rune) []string {
	for i := 0; i+1 < len(ranges); i += 2 {
		if from, to := max(ranges[i], '!'), min(ranges[i+1], '~'); from <= to {
			return few([]string{string(from), string(to)})
		}
	}
	if len(ranges) == 0 {
		return nil
	}
	return []string{string(ranges[0])}
}

func repeated(of []string, times int) []string {
	out := []string{""}
	for range times {
		if out = joined(out, of); len(out) == 0 || len(out[0]) > longestSample {
			return nil
		}
	}
	if times == 0 {
		out = few(append(out, of...))
	}
	return out
}

// joined are the texts of two lists after one another: each of the longer list, with what of the
// other stands at its place.
func joined(before, after []string) []string {
	if len(before) == 0 || len(after) == 0 {
		return nil
	}
	var out []string
	for i := range max(len(before), len(after)) {
		if text := before[min(i, len(before)-1)] + after[min(i, len(after)-1)]; len(text) <= longestSample {
			out = append(out, text)
		}
	}
	return few(out)
}

// few are the first of a list, each once.
func few(list []string) []string {
	var out []string
	for _, text := range list {
		if len(out) < mostMatching && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
