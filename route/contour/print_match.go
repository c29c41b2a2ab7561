package contour

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// conditions are those of a line where the path is as on wants it.
func (p *printer) conditions(l *route.Line, on *route.Condition) []Condition {
	var out []Condition
	if c, asked := p.path(on); asked {
		out = append(out, c)
	}
	seen := false
	for i := range l.Conditions {
		switch c := &l.Conditions[i]; c.On {
		case route.OnPath:
			if seen {
				p.Fail(route.UnsaidMatch, "an %s asks once for the path, and not also that %s", KindHTTPProxy, c.Text())
			}
			seen = true
		case route.OnMethod:
			h := &HeaderMatch{Name: method, Exact: c.Value}
			if c.Op == route.OneOf {
				h = &HeaderMatch{Name: method, Regex: strings.Join(c.Values, "|")}
			}
			out = append(out, Condition{Header: h})
		case route.OnAuthority:
			if p.implied(c) {
				continue
			}
			out = append(out, Condition{Header: p.header(c, ":authority")})
		case route.OnHeader:
			out = append(out, Condition{Header: p.header(c, c.Name)})
		case route.OnQuery:
			out = append(out, Condition{QueryParameter: p.parameter(c)})
		default:
			p.Fail(route.UnsaidMatch, "an %s cannot ask that %s", KindHTTPProxy, c.Text())
		}
	}
	return out
}

// implied reports whether the hosts of the table ask for the authority already.
func (p *printer) implied(c *route.Condition) bool {
	return !slices.ContainsFunc(p.To, func(to api.TargetRef) bool {
		parent, wild := strings.CutPrefix(to.Name, "*")
		return !wild || !c.Equal(oneLabel(parent))
	})
}

// path is what is asked of the path, moved where the order wants it; not asked where it
// may be any.
func (p *printer) path(on *route.Condition) (c Condition, asked bool) {
	text, _ := on.Expression()
	switch {
	case p.Lines[p.Line].Expression:
		text, _ = p.Spelled(p.Line)
	case on.Op == route.Equal:
		return Condition{Exact: on.Value}, true
	case (on.Op == route.BytePrefix || on.Value == "/") && on.Op != route.FullMatch && !strings.Contains(on.Value, "*") && !strings.Contains(on.Value, "//"):
		return Condition{Prefix: on.Value}, on.Value != "/"
	}
	if !strings.HasPrefix(text, "/") {
		p.Fail(route.UnsaidMatch, "an %s asks for paths by expressions that begin with a slash", KindHTTPProxy)
	}
	return Condition{Regex: text}, true
}

func (p *printer) header(c *route.Condition, name string) *HeaderMatch {
	out := &HeaderMatch{Name: name, IgnoreCase: c.Mode&route.IgnoreCase != 0, TreatMissingAsEmpty: c.Mode&route.MissingIsEmpty != 0}
	not := c.Mode&route.Not != 0
	switch {
	case c.Op == route.Present && not:
		out.NotPresent = true
	case c.Op == route.Present:
		out.Present = true
	case c.Op == route.Equal && c.Value != "" && not:
		out.NotExact = c.Value
	case c.Op == route.Equal && c.Value != "":
		out.Exact = c.Value
	case c.Op == route.Contains && not:
		out.NotContains = c.Value
	case c.Op == route.Contains:
		out.Contains = c.Value
	default:
		text, ok := c.Expression()
		if !ok || not {
			p.Fail(route.UnsaidMatch, "an %s cannot ask that %s", KindHTTPProxy, c.Text())
		}
		out.Regex, out.IgnoreCase = text, false
	}
	return out
}

func (p *printer) parameter(c *route.Condition) *ParameterMatch {
	out := &ParameterMatch{Name: c.Name, IgnoreCase: c.Mode&route.IgnoreCase != 0}
	switch {
	case c.Op == route.Present:
		out.Present = true
	case c.Op == route.Equal && c.Value != "":
		out.Exact = c.Value
	case c.Op == route.BytePrefix:
		out.Prefix = c.Value
	case c.Op == route.Suffix:
		out.Suffix = c.Value
	case c.Op == route.Contains:
		out.Contains = c.Value
	default:
		text, _ := c.Expression()
		out.Regex, out.IgnoreCase = text, false
	}
	return out
}
