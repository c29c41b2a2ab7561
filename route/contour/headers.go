package contour

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// comparison is what a condition on a header or query parameter does, in the order in
// which routes are sorted by it (spec/httpproxy.md 8).
type comparison uint8

const (
	isExact comparison = iota
	isRegex
	isPrefix
	isSuffix
	isContained
	isPresent
)

var comparisonWords = [...]string{"exact", "regex", "prefix", "suffix", "contains", "present"}

// parameter is a condition on a query parameter, or what a header has in common with
// one.
type parameter struct {
	name       string
	does       comparison
	value      string
	ignoreCase bool
	at         api.Path
	condition  *match.Condition // nil where it holds of every request
}

// header is a condition on a header; the name is in lower case.
type header struct {
	parameter
	not, missingIsEmpty bool
}

const method = ":method"

// read is the condition, or why it is none; nothing where it holds of every request.
func (h *HeaderMatch) read(at api.Path) ([]header, *api.Violation) {
	out := header{parameter: parameter{name: strings.ToLower(h.Name), ignoreCase: h.IgnoreCase, at: at}}
	n := 0
	for _, o := range []struct {
		set   bool
		does  comparison
		not   bool
		value string
	}{
		{h.Present, isPresent, false, ""}, {h.NotPresent, isPresent, true, ""}, {h.Contains != "", isContained, false, h.Contains},
		{h.NotContains != "", isContained, true, h.NotContains}, {h.Exact != "", isExact, false, h.Exact}, {h.NotExact != "", isExact, true, h.NotExact},
		{h.Regex != "", isRegex, false, h.Regex},
	} {
		if o.set {
			n++
			out.does, out.not, out.value = o.does, o.not, o.value
		}
	}
	if n != 1 {
		return nil, at.Breaks("it has %d operators; write one of present, notpresent, contains, notcontains, exact, notexact, regex", n)
	}
	out.ignoreCase = out.ignoreCase && out.does != isRegex && out.does != isPresent
	out.missingIsEmpty = h.TreatMissingAsEmpty && out.not && out.does != isPresent
	c, err := out.ask()
	if err != nil {
		return nil, at.Breaks("%s; correct it", err)
	}
	out.condition = c
	if c == nil {
		return nil, nil
	}
	return []header{out}, nil
}

// ask is the condition in the words of the model; nil where it always holds.
func (h *header) ask() (*match.Condition, error) {
	switch h.name {
	case method:
		return h.askMethod()
	case ":authority", "host":
		return h.askHost()
	}
	if err := route.CheckHeaderName("", h.name); err != nil {
		return nil, fmt.Errorf("the name %s", err)
	}
	var mode match.Modifier
	if h.not {
		mode |= match.Not
	}
	if h.missingIsEmpty {
		mode |= match.MissingIsEmpty
	}
	return h.compare(match.OnHeader, mode)
}

// compare is the condition on a subject.
func (p *parameter) compare(on match.Subject, mode match.Modifier) (*match.Condition, error) {
	if p.ignoreCase {
		mode |= match.IgnoreCase
	}
	var c match.Condition
	var err error
	switch p.does {
	case isPresent:
		c, err = match.Has(on, p.name, mode)
	case isRegex:
		c, err = match.MatchAll(on, p.name, mode, p.value)
	default:
		op := map[comparison]match.Op{isExact: match.Equal, isPrefix: match.BytePrefix, isSuffix: match.Suffix, isContained: match.Contains}[p.does]
		c, err = match.Compare(on, p.name, op, mode, p.value)
	}
	return &c, err
}

// askMethod takes one method, or a regular expression that is a choice of some.
func (h *header) askMethod() (*match.Condition, error) {
	switch {
	case h.does == isPresent && !h.not:
		return nil, nil
	case h.does == isExact && !h.not && !h.ignoreCase:
		c, err := match.Compare(match.OnMethod, "", match.Equal, 0, h.value)
		return &c, err
	case h.does == isRegex:
		if list := choice(h.value); list != nil && match.CheckRegex("", h.value) == nil {
			c, err := match.Among(match.OnMethod, "", list...)
			return &c, err
		}
	}
	return nil, fmt.Errorf("a method is compared by exact, or by a regex that is a choice such as GET|HEAD")
}

// askHost takes a host by exact or regex.
func (h *header) askHost() (*match.Condition, error) {
	switch {
	case h.does == isPresent && !h.not:
		return nil, nil
	case h.not || h.does != isExact && h.does != isRegex:
		return nil, fmt.Errorf("the host is compared by exact or regex")
	}
	p := h.parameter
	p.name = ""
	return p.compare(match.OnAuthority, 0)
}

// choice are the words of an expression such as GET|HEAD; nil where it is none.
func choice(expression string) []string {
	words := strings.Split(strings.TrimSuffix(strings.TrimPrefix(expression, "("), ")"), "|")
	for _, w := range words {
		if re, err := syntax.Parse(w, syntax.Perl); err != nil || re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 || string(re.Rune) != w {
			return nil
		}
	}
	return words
}

// read is the condition, or why it is none.
func (q *ParameterMatch) read(at api.Path) (parameter, *api.Violation) {
	out := parameter{name: q.Name, at: at}
	n := 0
	for _, o := range []struct {
		does  comparison
		value string
	}{{isExact, q.Exact}, {isPrefix, q.Prefix}, {isSuffix, q.Suffix}, {isRegex, q.Regex}, {isContained, q.Contains}} {
		if o.value != "" {
			n++
			out.does, out.value = o.does, o.value
		}
	}
	if q.Present {
		n++
		out.does = isPresent
	}
	if n != 1 {
		return out, at.Breaks("it has %d operators; write one of exact, prefix, suffix, regex, contains, present", n)
	}
	out.ignoreCase = q.IgnoreCase && out.does != isRegex && out.does != isPresent
	c, err := out.compare(match.OnQuery, 0)
	if err != nil {
		return out, at.Breaks("%s; correct it", err)
	}
	out.condition = c
	return out, nil
}

// contradiction says which of the conditions cannot hold beside another, and where it stands.
func contradiction(list []header) (api.Path, string) {
	for i, h := range list {
		for _, g := range list[:i] {
			if g.name != h.name {
				continue
			}
			switch {
			case h.does == isExact && g.does == isExact && !h.not && !g.not,
				h.does == isPresent && g.does == isPresent && h.not != g.not,
				h.does == g.does && h.not != g.not && h.value == g.value && (h.does == isExact || h.does == isContained):
				return h.at, fmt.Sprintf("header %s cannot be so beside the condition at %s; remove one of them", h.name, g.at)
			}
		}
	}
	return "", ""
}

// contradictionOf is contradiction for query parameters.
func contradictionOf(list []parameter) (api.Path, string) {
	for i, q := range list {
		if q.does == isExact && slices.ContainsFunc(list[:i], func(p parameter) bool { return p.does == isExact && strings.EqualFold(p.name, q.name) }) {
			return q.at, fmt.Sprintf("the query parameter %s is compared by exact twice; remove one of them", q.name)
		}
	}
	return "", ""
}
