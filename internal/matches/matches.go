// Package matches writes route matches in short, for tests that need them
// without a document. What no constructor takes panics.
package matches

import (
	"slices"

	"github.com/weftmesh/weft/route"
)

// Of is the match of conditions.
func Of(conditions ...route.Condition) route.Match { return route.Match{Conditions: conditions} }

// Path is the match of one condition on the path: route.Equal, SegmentPrefix,
// BytePrefix or FullMatch.
func Path(op route.Op, value string) route.Match { return Of(On(route.OnPath, op, "", value)) }

// Method is a condition on the method.
func Method(name string) route.Condition { return On(route.OnMethod, route.Equal, "", name) }

// On is a condition without modifiers: on a name where the subject has names,
// and with a value where the operator compares with one.
func On(subject route.Subject, op route.Op, name, value string) route.Condition {
	switch op {
	case route.Present:
		return Must(route.Has(subject, name, 0))
	case route.FullMatch:
		return Must(route.MatchAll(subject, name, 0, value))
	}
	return Must(route.Compare(subject, name, op, 0, value))
}

// Absent is the condition that a header is missing.
func Absent(header string) route.Condition { return Must(route.Has(route.OnHeader, header, route.Not)) }

// Must is c, which is legal.
func Must(c route.Condition, err error) route.Condition {
	if err != nil {
		panic(err)
	}
	return c
}

// Kinds are the cells of a match's conditions in words, each once, for counting
// what was tested.
func Kinds(m *route.Match) []string {
	var out []string
	if m.Count(route.OnPath) == 0 {
		out = append(out, "no path")
	}
	for i := range m.Conditions {
		c := &m.Conditions[i]
		kind := c.On.String() + " " + c.Op.String()
		if c.Mode&route.Not != 0 {
			kind = c.On.String() + " not " + c.Op.String()
		}
		out = append(out, kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
