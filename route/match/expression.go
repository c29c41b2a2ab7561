package match

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Padding matches nothing: it makes an expression longer and changes nothing else.
const Padding = "(?:)"

// Expression is a regular expression that matches the whole of each value that the
// condition compares alike, whatever Not says; false where there is none, as for a range
// of numbers.
func (c *Condition) Expression() (string, bool) {
	text := literal(c.Value)
	if c.Mode&IgnoreCase != 0 {
		text = "(?i:" + text + ")"
	}
	return c.Op.row().expression(c, text)
}

// literal is an expression that matches text alone, byte by byte.
func literal(text string) string {
	if text == "" {
		return Padding
	}
	return hexEscaped(regexp.QuoteMeta(text))
}

// Padded is an expression with the same meaning that has at least length bytes.
func Padded(expression string, length int) string {
	if n := length - len(expression); n > 0 {
		return expression + strings.Repeat(Padding, (n+len(Padding)-1)/len(Padding))
	}
	return expression
}

// TrimPadding is an expression without what Padded put behind it.
func TrimPadding(expression string) string {
	for short, ok := strings.CutSuffix(expression, Padding); ok && short != ""; short, ok = strings.CutSuffix(short, Padding) {
		expression = short
	}
	return expression
}

// Alternatives are lists of conditions of which one holds where cs hold: as one, but for
// a choice of methods, which languages without such a choice write as several matches.
func (cs Conditions) Alternatives() []Conditions {
	for i := range cs {
		if cs[i].On != OnMethod || cs[i].Op != OneOf {
			continue
		}
		var out []Conditions
		for _, v := range cs[i].Values {
			one := append(Conditions(nil), cs...)
			one[i] = Condition{On: OnMethod, Op: Equal, Value: v}
			out = append(out, one)
		}
		return out
	}
	return []Conditions{cs}
}

// Atoms are what cs ask in one spelling, whatever words were used for it: one text for
// each part into which a segment prefix (its path, and all below) and a choice of methods
// fall. Conditions with equal atoms take the same requests.
func (cs Conditions) Atoms() []Atom {
	out := []Atom{{}}
	for i := range cs {
		var next []Atom
		for _, part := range cs[i].parts() {
			if part.Trivial() {
				part.Op = 0
			}
			for _, a := range out {
				b := Atom{Conditions: append(a.Conditions[:len(a.Conditions):len(a.Conditions)], part), asked: a.asked}
				if part.Op != 0 {
					b.asked = append(a.asked[:len(a.asked):len(a.asked)], part.spelled())
				} else {
					b.Conditions = a.Conditions
				}
				next = append(next, b)
			}
		}
		out = next
	}
	return out
}

// Atom is one part of conditions; Key is the same for those that take the same requests.
type Atom struct {
	Conditions
	asked []string
}

// parts are conditions of which one holds where c does.
func (c *Condition) parts() []Condition {
	switch {
	case c.On == OnMethod && c.Op == OneOf:
		var out []Condition
		for _, a := range (Conditions{*c}).Alternatives() {
			out = append(out, a[0])
		}
		return out
	case c.On == OnPath && c.Op == SegmentPrefix && c.Value != "/":
		at := strings.TrimSuffix(c.Value, "/")
		return []Condition{{On: OnPath, Op: Equal, Value: at}, {On: OnPath, Op: BytePrefix, Value: at + "/"}}
	case c.On == OnPath && c.Op == FullMatch:
		re, text := canonical(c.Value)
		if text == anyBelow {
			return []Condition{AnyPath}
		}
		if path, ok := subtree(re); ok {
			at, err := MatchAll(OnPath, "", 0, path)
			under, bad := MatchAll(OnPath, "", 0, path+"/.*")
			if err == nil && bad == nil {
				return []Condition{at, under}
			}
		}
	}
	return []Condition{*c}
}

// spelled is the condition in one spelling.
func (c *Condition) spelled() string {
	text, ok := c.Expression()
	if !ok {
		return c.Text()
	}
	_, text = canonical(text)
	return fmt.Sprintf("%d %s %d %s", c.On, c.Name, c.Mode&^IgnoreCase, text)
}

// Key is one text for atoms that ask the same, in whatever order.
func (a *Atom) Key() string {
	asked := slices.Clone(a.asked)
	slices.Sort(asked)
	return strings.Join(slices.Compact(asked), "\x00")
}
