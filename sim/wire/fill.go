package wire

import (
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/route"
)

// filling is of what headers are filled.
type Filling struct {
	call      *Call
	headers   Headers // of the request
	authority string
	path      string
	gone      map[string]bool // which are removed before
}

// filling is of the request as it came, without what filters remove: Envoy makes their
// changes at once, and removes first.
func (c *Call) Filling(filters []route.Filter) *Filling {
	f := &Filling{call: c, headers: c.Headers, authority: c.Authority, path: c.Path}
	for i := range filters {
		m := filters[i].RequestHeaders
		if m == nil {
			continue
		}
		for _, h := range m.Set {
			delete(f.gone, strings.ToLower(h.Name))
		}
		for _, name := range m.Remove {
			if f.gone == nil {
				f.gone = map[string]bool{}
			}
			f.gone[strings.ToLower(name)] = true
		}
	}
	return f
}

// filling is of the request as it goes on.
func (f *Forwarded) Filling(c *Call) *Filling {
	path, _, _ := strings.Cut(f.Path, "?")
	return &Filling{call: c, headers: f.OnWire.Headers, authority: f.Authority, path: path}
}

// value is what comes out of h. In the place of what only the proxy knows stands the
// operator, and the verdict says so.
func (f *Filling) value(h *route.Filled) string {
	return h.Value(func(p route.Part) string {
		lines := f.headers.Values(p.Header)
		switch {
		case p.Fact == route.OfProtocol && f.call.HTTP2:
			return "HTTP/2"
		case p.Fact == route.OfProtocol:
			return "HTTP/1.1"
		case p.Fact == route.OfPath:
			return f.path
		case p.Fact == route.OfMethod:
			return f.call.Method
		case p.Answer != "":
			f.call.Doubt("headers: only who answers knows the value of " + p.Operator() + " in " + h.Name + "; the operator is shown in its place")
			return p.Operator()
		case p.Fact != "", p.Header != "" && f.call.writes(p.Header):
			f.call.Doubt("headers: only the proxy knows the value of " + p.Operator() + " in " + h.Name + "; the operator is shown in its place")
			return p.Operator()
		case p.Header == "":
			return p.Text
		case f.gone[p.Header]:
			return ""
		case p.Header == "host":
			return f.authority
		case len(lines) > 0:
			return lines[0]
		}
		return ""
	})
}

// writes reports whether proxies write a header of c themselves, or tell by it how long a
// body is.
func (c *Call) writes(name string) bool {
	_, given := c.Sent[name]
	switch name {
	case idHeader, "content-length":
		return !given
	case "x-forwarded-for":
		return c.Outside
	}
	return name == "transfer-encoding" || strings.HasPrefix(name, "x-envoy-")
}

// doubt notes what is not known, for the branch that c comes to.
func (c *Call) Doubt(text string) {
	if !slices.Contains(c.Doubts, text) {
		c.Doubts = append(c.Doubts, text)
	}
}

func (h *ResponseHeaders) Same(o *ResponseHeaders) bool {
	return (h == nil) == (o == nil) && (h == nil || maps.Equal(h.Set, o.Set) && maps.Equal(h.Add, o.Add) && slices.Equal(h.Remove, o.Remove))
}
