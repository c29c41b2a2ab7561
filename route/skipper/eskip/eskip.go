// Package eskip reads and prints the calls of which eskip, the language of
// Skipper's routes, is made: predicates, as Cookie("canary", "A"), joined by &&,
// and filters, as setPath("/"), joined by ->.
//
// It promises that printing what was read and reading it again gives the same
// calls, and that a mistake names the character at which it stands.
//
// It knows no predicate and no filter: what a name means, and which arguments it
// takes, is for those who read the calls.
package eskip

import (
	"fmt"
	"strconv"
	"strings"
)

// Call is one predicate or filter.
type Call struct {
	Name string
	Args []Arg
}

// Arg is one argument of a call. Text holds a string or a regular expression,
// Number a number.
type Arg struct {
	Kind   Kind
	Text   string
	Number float64
}

// Kind is how an argument is written.
type Kind uint8

// The kinds of arguments.
const (
	String Kind = iota + 1 // "text" or `text`
	Number                 // 1, -1, .5, 1e3
	Regexp                 // /text/
)

var kindNames = [...]string{"", "string", "number", "regular expression"}

// String is the kind as messages name it.
func (k Kind) String() string { return kindNames[k] }

// Error is a mistake in a text.
type Error struct {
	At      int // the byte in the text, from 0
	Problem string
}

// Error says where, counting characters of a line as editors do.
func (e *Error) Error() string { return fmt.Sprintf("at character %d: %s", e.At+1, e.Problem) }

// The signs between calls.
const (
	And  = "&&" // between predicates
	Then = "->" // between filters
)

// Parse reads calls that stand on both sides of joint.
func Parse(text, joint string) ([]Call, error) {
	x := &scanner{text: text}
	var out []Call
	for {
		c, err := x.call()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		x.space()
		if x.at == len(text) {
			return out, nil
		}
		if !strings.HasPrefix(text[x.at:], joint) {
			return nil, x.wrong("%s does not belong here; write %s before another call, or remove it", x.here(), joint)
		}
		x.at += len(joint)
	}
}

// String is the call as eskip writes it.
func (c Call) String() string {
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = a.String()
	}
	return c.Name + "(" + strings.Join(args, ", ") + ")"
}

// String is the argument as eskip writes it.
func (a Arg) String() string {
	switch a.Kind {
	case Number:
		return strconv.FormatFloat(a.Number, 'g', -1, 64)
	case Regexp:
		return "/" + strings.ReplaceAll(a.Text, "/", `\/`) + "/"
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(a.Text) {
		switch c := a.Text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case escapeOf(c) != 0:
			b.WriteByte('\\')
			b.WriteByte(escapeOf(c))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// escapes are the letters behind a backslash and what they stand for.
const escapes = "a\ab\bf\fn\nr\rt\tv\v"

func escapeOf(c byte) byte {
	if i := strings.IndexByte(escapes, c); i > 0 && i%2 == 1 {
		return escapes[i-1]
	}
	return 0
}

func escaped(c byte) (byte, bool) {
	for i := 0; i < len(escapes); i += 2 {
		if escapes[i] == c {
			return escapes[i+1], true
		}
	}
	return c, c == '"' || c == '\\'
}
