package kuma

import (
	"slices"
	"strconv"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// match is conditions without a choice of methods as one match.
func (p *printer) match(cs match.Conditions) Match {
	var out Match
	for i := range cs {
		c := &cs[i]
		switch c.On {
		case match.OnPath:
			if out.Path != nil {
				p.Fail(route.UnsaidMatch, "a match of %s asks once for the path, and not also that %s", KindHTTPRoute, c.Text())
			}
			out.Path = p.path(c)
		case match.OnMethod:
			if !slices.Contains(methods, c.Value) {
				p.Fail(route.UnsaidMatch, "%s does not know the method %s", KindHTTPRoute, c.Value)
			}
			out.Method = c.Value
		case match.OnHeader:
			if slices.ContainsFunc(out.Headers, func(h HeaderMatch) bool { return h.Name == c.Name }) {
				p.Fail(route.UnsaidMatch, "a match of %s asks once for a header, and not also that %s", KindHTTPRoute, c.Text())
			}
			out.Headers = append(out.Headers, p.header(c))
		case match.OnQuery:
			if slices.ContainsFunc(out.Query, func(q QueryMatch) bool { return q.Name == c.Name }) {
				p.Fail(route.UnsaidMatch, "a match of %s asks once for a query parameter, and not also that %s", KindHTTPRoute, c.Text())
			}
			q := QueryMatch{Type: string(Exact), Name: c.Name, Value: c.Value}
			if c.Op != match.Equal || c.Mode != 0 {
				q.Type, q.Value = string(Regex), p.expression(c)
			}
			out.Query = append(out.Query, q)
		default:
			p.Fail(route.UnsaidMatch, "%s cannot ask that %s", KindHTTPRoute, c.Text())
		}
	}
	if out.Path == nil && (p.Lines[p.Line].Expression || out.Method == "" && len(out.Headers)+len(out.Query) == 0) {
		out.Path = p.path(cs.Path())
	}
	return out
}

// path is what the line asks of the path, moved where the order wants it.
func (p *printer) path(c *match.Condition) *PathMatch {
	switch {
	case p.Lines[p.Line].Expression:
		text, _ := p.Spelled(p.Line)
		return &PathMatch{Type: Regex, Value: text}
	case c.Op == match.Equal:
		return &PathMatch{Type: Exact, Value: c.Value}
	case c.Op == match.SegmentPrefix, c.Op == match.BytePrefix && c.Value == "/":
		return &PathMatch{Type: Prefix, Value: c.Value}
	case c.Op == match.BytePrefix && p.InSegments(p.Line):
		p.Segments("a MeshHTTPRoute")
		return &PathMatch{Type: Prefix, Value: c.Value}
	}
	return &PathMatch{Type: Regex, Value: p.expression(c)}
}

func (p *printer) header(c *match.Condition) HeaderMatch {
	h := HeaderMatch{Type: string(Regex), Name: c.Name}
	switch {
	case c.Op == match.Present && c.Mode == match.Not:
		h.Type = "Absent"
	case c.Op == match.Present && c.Mode == 0:
		h.Type = "Present"
	case c.Op == match.Equal && c.Mode == 0:
		h.Type, h.Value = string(Exact), c.Value
	case c.Op == match.BytePrefix && c.Mode == 0:
		h.Type, h.Value = "Prefix", c.Value
	default:
		h.Value = p.expression(c)
	}
	return h
}

// expression is c as an expression; of what is negated there is none.
func (p *printer) expression(c *match.Condition) string {
	text, ok := c.Expression()
	if !ok || c.Mode&^match.IgnoreCase != 0 {
		p.Fail(route.UnsaidMatch, "%s cannot ask that %s", KindHTTPRoute, c.Text())
	}
	return text
}

// filters writes those of a rule.
func (p *printer) filters(out *Default, c *route.MergedRule) {
	plain := route.PlainOf(c.Filters)
	p.NothingFilled(KindHTTPRoute, &plain)
	p.NoCORS(KindHTTPRoute, &plain)
	p.NoChecks(KindHTTPRoute, &plain)
	for i := range plain.Request {
		out.Filters = append(out.Filters, Filter{Type: requestHeaderModifier, RequestHeaderModifier: modifierOf(&plain.Request[i])})
	}
	for i := range plain.Answer {
		out.Filters = append(out.Filters, Filter{Type: responseHeaderModifier, ResponseHeaderModifier: modifierOf(&plain.Answer[i])})
	}
	if w := plain.Rewrite; w != nil {
		f := &URLRewrite{Hostname: w.Hostname, Path: rewriteOf(p.Replaced(p.Line, w.Path))}
		if w.HostHeader != "" || w.BackendsHost {
			p.Fail(route.UnsaidFilter, "%s takes the host from no header and no backend; it writes one", KindHTTPRoute)
		}
		if w.Path != nil && f.Path == nil {
			p.Fail(route.UnsaidFilter, "%s replaces the whole path or the prefix that its match names, and not each match of an expression", KindHTTPRoute)
		}
		out.Filters = append(out.Filters, Filter{Type: urlRewrite, URLRewrite: f})
	}
	for _, m := range plain.Mirrors {
		out.Filters = append(out.Filters, MirrorOf(p.backend(&m.Backend), m.Percent))
	}
}

func percentageOf(percent float64) *Percentage {
	if percent == float64(int(percent)) {
		return PercentOf(int(percent))
	}
	return &Percentage{text: strconv.FormatFloat(percent, 'f', -1, 64), decimal: true}
}

func modifierOf(m *route.HeaderModifier) *HeaderModifier {
	out := &HeaderModifier{Remove: m.Remove}
	for _, h := range m.Set {
		out.Set = append(out.Set, Header(h))
	}
	for _, h := range m.Add {
		out.Add = append(out.Add, Header(h))
	}
	return out
}
