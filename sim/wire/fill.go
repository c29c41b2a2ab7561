package wire

import (
	"github.com/weftmesh/weft/route"
)

// Filling is of what headers are filled.
type Filling struct {
	call      *NormalizedRequest
	headers   Headers // of the request
	authority string
	path      string
	gone      map[string]bool // which are removed before
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
