package eskip

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scanner reads a text from its begin.
type scanner struct {
	text string
	at   int // the next byte
}

func (x *scanner) wrong(format string, args ...any) *Error {
	return &Error{At: x.at, Problem: fmt.Sprintf(format, args...)}
}

// here is the next character as messages show it.
func (x *scanner) here() string {
	if x.at == len(x.text) {
		return "the end of the text"
	}
	r, _ := utf8.DecodeRuneInString(x.text[x.at:])
	return strconv.QuoteRune(r)
}

// next is the next byte, 0 at the end.
func (x *scanner) next() byte {
	if x.at == len(x.text) {
		return 0
	}
	return x.text[x.at]
}

// space skips what separates, comments too.
func (x *scanner) space() {
	for x.at < len(x.text) {
		switch {
		case strings.IndexByte(" \t\r\n", x.text[x.at]) >= 0:
			x.at++
		case strings.HasPrefix(x.text[x.at:], "//"):
			x.at += lineLength(x.text[x.at:])
		default:
			return
		}
	}
}

func lineLength(text string) int {
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

// call reads name(argument, …).
func (x *scanner) call() (Call, error) {
	x.space()
	c := Call{Name: x.name()}
	if c.Name == "" {
		return c, x.wrong("%s begins no name; write a call such as name(\"argument\")", x.here())
	}
	x.space()
	if x.next() != '(' {
		return c, x.wrong("%s follows the name %s; write its arguments in parentheses", x.here(), clip(c.Name))
	}
	x.at++
	x.space()
	if x.next() == ')' {
		x.at++
		return c, nil
	}
	for {
		a, err := x.arg()
		if err != nil {
			return c, err
		}
		c.Args = append(c.Args, a)
		x.space()
		switch x.next() {
		case ',':
			x.at++
		case ')':
			x.at++
			return c, nil
		default:
			return c, x.wrong("%s follows an argument of %s; write a comma or the closing parenthesis", x.here(), clip(c.Name))
		}
	}
}

func (x *scanner) name() string {
	begin := x.at
	for ; x.at < len(x.text); x.at++ {
		c := x.text[x.at]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (x.at == begin || c < '0' || c > '9') {
			break
		}
	}
	return x.text[begin:x.at]
}

func (x *scanner) arg() (Arg, error) {
	x.space()
	switch c := x.next(); {
	case c == '"':
		return x.quoted()
	case c == '`':
		return x.raw()
	case c == '/':
		return x.regexp()
	case strings.IndexByte("+-.0123456789", c) >= 0:
		return x.number()
	}
	return Arg{}, x.wrong("%s begins no argument; write a string in quotes, a number, or a regular expression between slashes", x.here())
}

// quoted reads a string in double quotes. A backslash before what is no escape
// stands for itself, as expressions have it.
func (x *scanner) quoted() (Arg, error) {
	begin := x.at
	x.at++
	var b strings.Builder
	for x.at < len(x.text) {
		c := x.text[x.at]
		switch {
		case c == '"':
			x.at++
			return Arg{Kind: String, Text: b.String()}, nil
		case c == '\\' && x.at+1 < len(x.text):
			x.at++
			next, known := escaped(x.text[x.at])
			if !known {
				b.WriteByte('\\')
			}
			c = next
		}
		b.WriteByte(c)
		x.at++
	}
	x.at = begin
	return Arg{}, x.wrong("the string that begins here does not end; write the closing quote")
}

// raw reads a string in backticks, in which nothing is special.
func (x *scanner) raw() (Arg, error) {
	text, _, ended := strings.Cut(x.text[x.at+1:], "`")
	if !ended {
		return Arg{}, x.wrong("the string that begins here does not end; write the closing backtick")
	}
	x.at += len(text) + 2
	return Arg{Kind: String, Text: text}, nil
}

// regexp reads an expression between slashes, in which a slash has a backslash
// before it; any other backslash is the expression's own.
func (x *scanner) regexp() (Arg, error) {
	begin := x.at
	x.at++
	var b strings.Builder
	for ; x.at < len(x.text); x.at++ {
		c := x.text[x.at]
		switch {
		case c == '/':
			x.at++
			return Arg{Kind: Regexp, Text: b.String()}, nil
		case c == '\\' && x.at+1 < len(x.text):
			x.at++
			if x.text[x.at] != '/' {
				b.WriteByte('\\')
			}
			c = x.text[x.at]
		}
		b.WriteByte(c)
	}
	x.at = begin
	return Arg{}, x.wrong("the regular expression that begins here does not end; write the closing slash")
}

func (x *scanner) number() (Arg, error) {
	begin := x.at
	for x.at < len(x.text) && strings.IndexByte("+-.0123456789eE", x.text[x.at]) >= 0 {
		x.at++
	}
	n, err := strconv.ParseFloat(x.text[begin:x.at], 64)
	if err != nil || math.IsInf(n, 0) {
		text := x.text[begin:x.at]
		x.at = begin
		return Arg{}, x.wrong("%s is no number; write one such as 10, .5 or 1e3", clip(text))
	}
	return Arg{Kind: Number, Number: n}, nil
}

func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
