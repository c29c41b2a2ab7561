package contour

import (
	"regexp"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// pathKind is how a path is compared.
type pathKind uint8

const (
	byPrefix pathKind = iota // of bytes; a * in it stands for one or more of them
	byExact
	byRegex
)

// ownPath is the one condition on the path in a list; at is where it stands.
type ownPath struct {
	kind  pathKind
	value string
	at    api.Path
}

// block is one list of conditions, read.
type block struct {
	path    *ownPath
	headers []header
	queries []parameter
	sound   bool
	faults  []fault
}

// empty reports whether the block asks nothing.
func (b *block) empty() bool { return b.path == nil && len(b.headers)+len(b.queries) == 0 }

// spelled finds the conditions of a route or include under whatever name they have.
type spelled struct {
	list []Condition
	at   api.Path
}

// conditionsAt are the conditions that stand in a part at at, under each of the names
// that they may have; those of the design are warned of.
func conditionsAt(r *report, at api.Path, plain, older []Condition, match *Match) []spelled {
	out := []spelled{{plain, at.Field("conditions")}}
	if older != nil {
		r.warns(specError, deprecated, at.Field("condition"), "is an older name; write conditions")
		out = append(out, spelled{older, at.Field("condition")})
	}
	if match != nil {
		r.warns(specError, deprecated, at.Field("match"), "is an older form; write its conditions as conditions")
		out = append(out, spelled{match.Conditions, at.Field("match").Field("conditions")})
	}
	return out
}

// blockReader reads lists of conditions; kind is the type of error for a wrong path.
type blockReader struct {
	report
	kind string
	out  block
	ok   bool
}

// readBlock reads lists of conditions as one block, which is not sound where one of
// them is wrong.
func readBlock(kind string, at api.Path, plain, older []Condition, match *Match) block {
	b := &blockReader{report: report{keep: true}, kind: kind, ok: true}
	lists := conditionsAt(&b.report, at, plain, older, match)
	for _, l := range lists {
		for i := range l.list {
			b.condition(&l.list[i], l.at.Index(i))
		}
	}
	if at, why := contradiction(b.out.headers); why != "" {
		b.wrong(routeError, badHeader, at, "%s", why)
	}
	if at, why := contradictionOf(b.out.queries); why != "" {
		b.wrong(routeError, badParameter, at, "%s", why)
	}
	b.out.sound, b.out.faults = b.ok, b.faults
	return b.out
}

func (b *blockReader) wrong(kind, reason string, at api.Path, format string, args ...any) {
	b.ok = false
	b.errs(kind, reason, at, format, args...)
}

func (b *blockReader) condition(c *Condition, at api.Path) {
	n := 0
	for _, p := range []struct {
		kind        pathKind
		name, value string
	}{{byPrefix, "prefix", c.Prefix}, {byExact, "exact", c.Exact}, {byRegex, "regex", c.Regex}, {byExact, "path", c.Path}} {
		if p.value == "" {
			continue
		}
		n++
		if p.name == "path" {
			b.warns(specError, deprecated, at.Field("path"), "is an older name; write exact")
		}
		b.pathCondition(ownPath{p.kind, p.value, at.Field(p.name)})
	}
	if c.Header != nil {
		n++
		if h, err := c.Header.read(at.Field("header")); err != nil {
			b.wrong(routeError, badHeader, err.Field, "%s", err.Message)
		} else {
			b.out.headers = append(b.out.headers, h...)
		}
	}
	if c.QueryParameter != nil {
		n++
		if q, err := c.QueryParameter.read(at.Field("queryParameter")); err != nil {
			b.wrong(routeError, badParameter, err.Field, "%s", err.Message)
		} else {
			b.out.queries = append(b.out.queries, q)
		}
	}
	if n == 0 {
		b.wrong(b.kind, badPath, at, "asks nothing; write prefix, exact, regex, header or queryParameter, or leave the item out")
	}
}

// pathCondition is one condition on the path.
func (b *blockReader) pathCondition(p ownPath) {
	switch {
	case b.out.path != nil:
		b.wrong(b.kind, badPath, p.at, "is a second condition on the path, beside %s; write one", b.out.path.at)
	case !strings.HasPrefix(p.value, "/"):
		b.wrong(b.kind, badPath, p.at, "%q does not begin with a slash; write a path", redact.Clip(p.value))
	case p.kind == byPrefix && strings.HasSuffix(p.value, "*"):
		b.wrong(b.kind, badPath, p.at, "a wildcard cannot end a prefix; leave the * out, for a prefix takes what follows it anyway")
	case p.kind == byRegex:
		if _, err := regexp.Compile(p.value); err != nil {
			b.wrong(b.kind, badPath, p.at, "the regular expression is wrong: %s; write it in RE2 syntax", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			return
		}
		b.out.path = &p
	default:
		b.out.path = &p
	}
}
