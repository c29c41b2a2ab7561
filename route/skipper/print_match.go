package skipper

import (
	"strings"
	"time"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// match is what a line asks.
func (p *printer) match(out *Route, l *route.Line) {
	seen := false
	for i := range l.Conditions {
		switch c := &l.Conditions[i]; c.On {
		case match.OnPath:
			if seen {
				p.expression(out, "PathRegexp", c)
			}
			seen = true
		case match.OnMethod:
			out.Methods = c.Values
			if c.Op == match.Equal {
				out.Methods = []string{c.Value}
			}
		case match.OnAuthority:
			p.expression(out, "Host", c)
		case match.OnHeader:
			switch {
			case c.Op == match.Equal && c.Mode == 0:
				out.Predicates = append(out.Predicates, say("Header", c.Name, c.Value))
			case c.Op == match.InRange && c.Name == "content-length":
				out.Predicates = append(out.Predicates, say("ContentLengthBetween", float64(c.From), float64(c.Until)))
			default:
				p.expression(out, "HeaderRegexp", c)
			}
		case match.OnQuery:
			if c.Op == match.Present {
				out.Predicates = append(out.Predicates, say("QueryParam", c.Name))
			} else {
				p.expression(out, "QueryParam", c)
			}
		case match.OnCookie:
			p.expression(out, "Cookie", c)
		default:
			p.Fail(route.UnsaidMatch, "that %s is not translated into a %s", c.Text(), Kind)
		}
	}
	p.path(out, l)
	if out.PathRegexp != "" && l.Count(match.OnPath) > 1 { // several stand in the order in which they are read
		out.Predicates = append([]string{say("PathRegexp", out.PathRegexp)}, out.Predicates...)
		out.PathRegexp = ""
	}
	if l.Rank > 0 { // above what predicates count
		const step = 100
		out.Predicates = append(out.Predicates, say("Weight", float64(l.Rank*step)))
	}
}

// expression asks for a whole value by a predicate that searches.
func (p *printer) expression(out *Route, name string, c *match.Condition) {
	text, ok := c.Expression()
	if !ok || c.Mode&^match.IgnoreCase != 0 {
		p.Fail(route.UnsaidMatch, "a %s cannot ask that %s", Kind, c.Text())
	}
	if text = wholly(text); c.Name == "" {
		out.Predicates = append(out.Predicates, say(name, text))
		return
	}
	out.Predicates = append(out.Predicates, say(name, c.Name, text))
}

// path is what the line asks of the path: a place in the tree, or an expression beside it.
func (p *printer) path(out *Route, l *route.Line) {
	c := l.Path()
	pattern, err := parsePattern(c.Value, c.Op != match.Equal)
	literally, plain := pattern.text()
	plain = err == nil && plain && (literally == c.Value || c.Op == match.SegmentPrefix && literally == strings.TrimSuffix(c.Value, "/"))
	text, _ := c.Expression()
	switch {
	case l.Expression && text == "/.*":
	case l.Expression:
		out.PathRegexp = wholly(text)
	case c.Op == match.Equal && plain:
		out.Path = c.Value
	case c.Op == match.SegmentPrefix && plain, c.Op == match.BytePrefix && c.Value == "/":
		out.PathSubtree = c.Value
	default:
		out.PathRegexp = wholly(text)
	}
}

// inlineFilters are the limits, timeouts and lines that a route can say so that they mean what
// they are; the others are left to policies.
func inlineFilters(list []route.Inline) []string {
	var out []string
	said := route.InlineOf(list)
	limit := &said.RateLimit
	switch rate := limit.Rate; {
	case rate == nil || rate.Burst > 0:
	case limit.Status != nil:
		out = append(out, say("ratelimit", float64(rate.Requests), rate.Interval.String(), float64(*limit.Status)))
	default:
		out = append(out, say("ratelimit", float64(rate.Requests), rate.Interval.String()))
	}
	if whole := said.Timeouts.Request; whole != nil && time.Duration(*whole) >= time.Millisecond {
		out = append(out, say("backendTimeout", whole.String()))
	}
	if off := said.AccessLines.Off; off != nil && *off {
		out = append(out, say("disableAccessLog"))
	}
	return out
}
