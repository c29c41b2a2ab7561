package match

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Request is what conditions ask of a request. Header takes a name in lower case
// and gives each line of that header; nil functions have nothing.
type Request struct {
	Method, Authority string
	Path              string // without the query
	Query             string // without the question mark
	Header            func(name string) []string
	Claim             func(name string) (string, bool)
	Draw              int64 // the request's random draw: 0 <= Draw < Chances
}

// Equal reports whether c and d ask the same.
func (c Condition) Equal(d Condition) bool { return c.same(&d) }

func (c *Condition) same(d *Condition) bool {
	return c.On == d.On && c.Op == d.Op && c.Mode == d.Mode && c.Name == d.Name && c.Value == d.Value &&
		c.From == d.From && c.Until == d.Until && slices.Equal(c.Values, d.Values)
}

// Holds reports whether the condition holds of a request, as Envoy decides it.
func (c *Condition) Holds(r *Request) bool {
	if c.On == OnHeader {
		lines := r.header(c.Name)
		if len(lines) == 0 {
			return c.holdsOfNothing()
		}
		return c.fitsOne(lines) != (c.Mode&Not != 0)
	}
	v, ok := c.value(r)
	if !ok {
		return c.holdsOfNothing()
	}
	return c.fits(v) != (c.Mode&Not != 0)
}

// holdsOfNothing is Holds of a request in which the subject is missing.
func (c *Condition) holdsOfNothing() bool {
	switch {
	case c.Mode&MissingIsEmpty != 0:
		return !c.fits("")
	case c.On == OnCookie:
		return c.Mode&Not != 0
	}
	return c.Op == Present && c.Mode&Not != 0
}

func (c *Condition) fitsOne(values []string) bool {
	for _, v := range values {
		if c.fits(v) {
			return true
		}
	}
	return false
}

// values are those that the subject has in a request, none where it is missing.
func (c *Condition) values(r *Request) []string {
	if c.On == OnHeader {
		return r.header(c.Name)
	}
	if v, ok := c.value(r); ok {
		return []string{v}
	}
	return nil
}

// value is what a subject that is no header has in a request; false where it is
// missing.
func (c *Condition) value(r *Request) (string, bool) {
	switch c.On {
	case OnPath:
		return r.Path, true
	case OnMethod:
		return r.Method, true
	case OnQuery:
		return parameter(r.Query, c.Name)
	case OnCookie:
		return r.cookie(c.Name)
	case OnAuthority:
		return r.Authority, true
	case OnClaim:
		if r.Claim == nil {
			return "", false
		}
		return r.Claim(c.Name)
	case OnChance:
		return strconv.FormatInt(r.Draw, 10), true
	}
	panic(fmt.Sprintf("no subject %d", c.On))
}

func (r *Request) header(name string) []string {
	if r.Header == nil {
		return nil
	}
	return r.Header(name)
}

// parameter finds the first query parameter of a name. Nothing is decoded:
// neither does Envoy.
func parameter(query, name string) (value string, ok bool) {
	for pair := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return value, true
		}
	}
	return "", false
}

// cookie finds the first cookie of a name; a value in quotes loses them.
func (r *Request) cookie(name string) (string, bool) {
	for _, line := range r.header("cookie") {
		for pair := range strings.SplitSeq(line, ";") {
			key, value, found := strings.Cut(strings.Trim(pair, " \t"), "=")
			if !found || key != name {
				continue
			}
			if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
				value = value[1 : n-1]
			}
			return value, true
		}
	}
	return "", false
}

// fits compares one value, whatever Not says.
func (c *Condition) fits(v string) bool {
	return c.compare(c.Op.row(), v)
}

// compare is fits by the row of c's operator.
func (c *Condition) compare(row *operator, v string) bool {
	if c.Mode&IgnoreCase != 0 {
		return row.fits(c, lowerASCII(v), lowerASCII(c.Value))
	}
	return row.fits(c, v, c.Value)
}

// underSegment reports whether path is prefix or below it.
func underSegment(path, prefix string) bool {
	prefix = strings.TrimSuffix(prefix, "/")
	return strings.HasPrefix(path, prefix) && (len(path) > len(prefix) && path[len(prefix)] == '/' || prefix != "" && len(path) == len(prefix))
}

// lowerASCII is lower case as Envoy compares it: of ASCII letters only.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Bytewise is s with each byte as one character: Envoy's expressions read their
// own text and what they are compared with in that way (measured on 1.40).
func Bytewise(s string) string {
	if utf8.RuneCountInString(s) == len(s) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}
