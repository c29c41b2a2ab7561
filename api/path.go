package api

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/api/redact"
)

// Path names a field inside a document as its writer would: spec.to[0].default.http.
type Path string

// Field is the path of the member name below p.
func (p Path) Field(name string) Path {
	if p == "" {
		return Path(name)
	}
	return p + "." + Path(name)
}

// Index is the path of item i of the list p.
func (p Path) Index(i int) Path {
	return p + "[" + Path(strconv.Itoa(i)) + "]"
}

// Key is the path of an entry of the map p whose keys are free text, as labels.
func (p Path) Key(key string) Path {
	return p + "[" + Path(strconv.Quote(key)) + "]"
}

// Within reports whether p is q or a part of it; everything is a part of the empty path.
func (p Path) Within(q Path) bool {
	return p == q || len(p) > len(q) && p[:len(q)] == q && (q == "" || p[len(q)] == '.' || p[len(q)] == '[')
}

// Breaks is a violation at p that refuses the document. The message says what
// is wrong and, after a semicolon, what to do.
func (p Path) Breaks(format string, args ...any) *Violation {
	return &Violation{Field: p, Code: "Invalid", Severity: Error, Message: printable(fmt.Sprintf(format, redact.Arguments(args)...))}
}

// Warns is a violation at p that does not refuse the document.
func (p Path) Warns(code, format string, args ...any) *Violation {
	return &Violation{Field: p, Code: code, Severity: Warning, Message: printable(fmt.Sprintf(format, redact.Arguments(args)...))}
}

// printable is a message with control characters escaped: it may quote a document, and
// ends on a terminal.
func printable(message string) string {
	if !strings.ContainsFunc(message, unicode.IsControl) {
		return message
	}
	var out strings.Builder
	for _, r := range message {
		if unicode.IsControl(r) && r != '\n' {
			fmt.Fprintf(&out, "\\u%04x", r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// OneOf is the violation of a word that is none of words.
func (p Path) OneOf(word string, words ...string) *Violation {
	if word == "" {
		return p.Breaks("is missing; write one of %s", strings.Join(words, ", "))
	}
	return p.Breaks("unknown value %q; %s", redact.Clip(word), nearest.DidYouMean(word, words, "write one of"))
}
