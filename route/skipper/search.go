package skipper

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// anywhere is an expression that matches a whole text where source matches somewhere
// in it: Skipper searches, Envoy compares as a whole. What source says of the begin
// and of the end needs nothing added.
func anywhere(source string) (string, error) {
	if inner, ok := whole(source); ok {
		return inner, nil
	}
	re, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return "", err
	}
	return searched(re), nil
}

// wholly is an expression that searches for what matches a whole text.
func wholly(expression string) string { return "^(?:" + expression + ")$" }

// whole is the expression of which wholly made the source, as it was; false where it did not.
func whole(source string) (string, bool) {
	inner := strings.TrimSuffix(strings.TrimPrefix(source, "^(?:"), ")$")
	if wholly(inner) != source {
		return "", false
	}
	re, err := syntax.Parse(inner, syntax.Perl)
	return inner, err == nil && !anchored(re)
}

// anchored reports whether a part of an expression asks for the begin or the end.
func anchored(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText || slices.ContainsFunc(re.Sub, anchored)
}

const anything = "(?s:.*)"

func searched(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpAlternate:
		out := ""
		for i, sub := range re.Sub {
			if i > 0 {
				out += "|"
			}
			out += "(?:" + searched(sub) + ")"
		}
		return out
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpEmptyMatch:
		return anything
	case syntax.OpConcat:
		subs, before, behind := re.Sub, anything, anything
		if subs[0].Op == syntax.OpBeginText {
			subs, before = subs[1:], ""
		}
		if n := len(subs); n > 0 && subs[n-1].Op == syntax.OpEndText {
			subs, behind = subs[:n-1], ""
		}
		out := before
		for _, sub := range subs {
			out += "(?:" + sub.String() + ")"
		}
		return out + behind
	}
	return anything + "(?:" + re.String() + ")" + anything
}
