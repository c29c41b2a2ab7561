// Package matches writes route matches in short, for tests that need them
// without a document. What no constructor takes panics.
package matches

import (
	"slices"

	"github.com/weftmesh/weft/route/match"
)

// Of is the match of conditions.
func Of(conditions ...match.Condition) match.Match { return match.Match{Conditions: conditions} }

// Path is the match of one condition on the path: route.Equal, SegmentPrefix,
// BytePrefix or FullMatch.
func Path(op match.Op, value string) match.Match { return Of(On(match.OnPath, op, "", value)) }

// Method is a condition on the method.
func Method(name string) match.Condition { return On(match.OnMethod, match.Equal, "", name) }

// On is a condition without modifiers: on a name where the subject has names,
// and with a value where the operator compares with one.
func On(subject match.Subject, op match.Op, name, value string) match.Condition {
	switch op {
	case match.Present:
		return Must(match.Has(subject, name, 0))
	case match.FullMatch:
		return Must(match.MatchAll(subject, name, 0, value))
	}
	return Must(match.Compare(subject, name, op, 0, value))
}

// Absent is the condition that a header is missing.
func Absent(header string) match.Condition { return Must(match.Has(match.OnHeader, header, match.Not)) }

// Must is c, which is legal.
func Must(c match.Condition, err error) match.Condition {
	if err != nil {
		panic(err)
	}
	return c
}

// Kinds are the cells of a match's conditions in words, each once, for counting
// what was tested.
func Kinds(m *match.Match) []string {
	var out []string
	if m.Count(match.OnPath) == 0 {
		out = append(out, "no path")
	}
	for i := range m.Conditions {
		c := &m.Conditions[i]
		kind := c.On.String() + " " + c.Op.String()
		if c.Mode&match.Not != 0 {
			kind = c.On.String() + " not " + c.Op.String()
		}
		out = append(out, kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
