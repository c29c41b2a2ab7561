package contour

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// conditions are those of a line where the path is as on wants it.
func (p *printer) conditions(l *route.Line, on *match.Condition) []Condition {
	var out []Condition
	if c, asked := p.path(on); asked {
		out = append(out, c)
	}
	seen := false
	for i := range l.Conditions {
		switch c := &l.Conditions[i]; c.On {
		case match.OnPath:
			if seen {
				p.Fail(route.UnsaidMatch, "an %s asks once for the path, and not also that %s", KindHTTPProxy, c.Text())
			}
			seen = true
		case match.OnMethod:
			h := &HeaderMatch{Name: method, Exact: c.Value}
			if c.Op == match.OneOf {
				h = &HeaderMatch{Name: method, Regex: strings.Join(c.Values, "|")}
			}
			out = append(out, Condition{Header: h})
		case match.OnAuthority:
			if p.implied(c) {
				continue
			}
			out = append(out, Condition{Header: p.header(c, ":authority")})
		case match.OnHeader:
			out = append(out, Condition{Header: p.header(c, c.Name)})
		case match.OnQuery:
			out = append(out, Condition{QueryParameter: p.parameter(c)})
		default:
			p.Fail(route.UnsaidMatch, "an %s cannot ask that %s", KindHTTPProxy, c.Text())
		}
	}
	return out
}

// implied reports whether the hosts of the table ask for the authority already.
func (p *printer) implied(c *match.Condition) bool {
	return !slices.ContainsFunc(p.To, func(to api.TargetRef) bool {
		parent, wild := strings.CutPrefix(to.Name, "*")
		return !wild || !c.Equal(oneLabel(parent))
	})
}

// path is what is asked of the path, moved where the order wants it; not asked where it
// may be any.
func (p *printer) path(on *match.Condition) (c Condition, asked bool) {
	text, _ := on.Expression()
	switch {
	case p.Lines[p.Line].Expression:
		text, _ = p.Spelled(p.Line)
	case on.Op == match.Equal:
		return Condition{Exact: on.Value}, true
	case (on.Op == match.BytePrefix || on.Value == "/") && on.Op != match.FullMatch && !strings.Contains(on.Value, "*") && !strings.Contains(on.Value, "//"):
		return Condition{Prefix: on.Value}, on.Value != "/"
	}
	if !strings.HasPrefix(text, "/") {
		p.Fail(route.UnsaidMatch, "an %s asks for paths by expressions that begin with a slash", KindHTTPProxy)
	}
	return Condition{Regex: text}, true
}

func (p *printer) header(c *match.Condition, name string) *HeaderMatch {
	out := &HeaderMatch{Name: name, IgnoreCase: c.Mode&match.IgnoreCase != 0, TreatMissingAsEmpty: c.Mode&match.MissingIsEmpty != 0}
	not := c.Mode&match.Not != 0
	switch {
	case c.Op == match.Present && not:
		out.NotPresent = true
	case c.Op == match.Present:
		out.Present = true
	case c.Op == match.Equal && c.Value != "" && not:
		out.NotExact = c.Value
	case c.Op == match.Equal && c.Value != "":
		out.Exact = c.Value
	case c.Op == match.Contains && not:
		out.NotContains = c.Value
	case c.Op == match.Contains:
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

func (p *printer) parameter(c *match.Condition) *ParameterMatch {
	out := &ParameterMatch{Name: c.Name, IgnoreCase: c.Mode&match.IgnoreCase != 0}
	fields := match.NewPerOp(&out.Exact, nil, &out.Prefix, &out.Suffix, &out.Contains, nil, nil, nil, nil)
	switch field := fields.Of(c.Op); {
	case c.Op == match.Present:
		out.Present = true
	case field != nil && c.Value != "":
		*field = c.Value
	default:
		text, _ := c.Expression()
		out.Regex, out.IgnoreCase = text, false
	}
	return out
}
