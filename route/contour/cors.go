package contour

import (
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// CORSPolicy says which scripts of other origins may ask the host, and what they may.
type CORSPolicy struct {
	AllowCredentials    bool     `json:"allowCredentials,omitempty"`
	AllowOrigin         []string `json:"allowOrigin,omitempty"` // *, an origin, or a regular expression
	AllowMethods        []string `json:"allowMethods,omitempty"`
	AllowHeaders        []string `json:"allowHeaders,omitempty"`
	ExposeHeaders       []string `json:"exposeHeaders,omitempty"`
	MaxAge              string   `json:"maxAge,omitempty"` // a duration; browsers know whole seconds
	AllowPrivateNetwork bool     `json:"allowPrivateNetwork,omitempty"`
}

const (
	corsError = "CORSError"
	badCORS   = "PolicyDidNotParse"
)

// corsValue is what the lists of names hold, as the published schema says.
var corsValue = regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$")

// corsOf reads the policy of the host; nil where it has none, or a wrong one, which is
// reported and takes the host away.
func corsOf(r *report) *route.CORS {
	p, at := r.of.Spec.(*HTTPProxy).VirtualHost.CORSPolicy, api.Path("spec.virtualhost.corsPolicy")
	if p == nil {
		return nil
	}
	if p.AllowPrivateNetwork {
		without(r, at, given{"allowPrivateNetwork", true})
	}
	out := &route.CORS{Credentials: p.AllowCredentials, Methods: p.AllowMethods, Headers: p.AllowHeaders, Expose: p.ExposeHeaders, MaxAge: maxAge(r, p, at.Field("maxAge"))}
	wrong := func(at api.Path, format string, args ...any) { r.fails(corsError, badCORS, at, format, args...) }
	if len(p.AllowOrigin) == 0 {
		wrong(at.Field("allowOrigin"), "is empty, so nobody may ask; name origins, or * for all")
	}
	if len(p.AllowMethods) == 0 {
		wrong(at.Field("allowMethods"), "is empty; name methods, or * for all")
	}
	for i, text := range p.AllowOrigin {
		origin, err := originOf(text)
		if err != nil {
			wrong(at.Field("allowOrigin").Index(i), "%s; write *, an origin such as https://example.com:8443, or a regular expression for the whole of one", err)
		}
		out.Origins = append(out.Origins, origin)
	}
	for _, list := range []struct {
		field  string
		values []string
	}{{"allowMethods", p.AllowMethods}, {"allowHeaders", p.AllowHeaders}, {"exposeHeaders", p.ExposeHeaders}} {
		for i, v := range list.values {
			if !corsValue.MatchString(v) {
				wrong(at.Field(list.field).Index(i), "%q is no name; write one such as X-Token, or *", redact.Clip(v))
			}
		}
	}
	if r.broken {
		return nil
	}
	return out
}

// maxAge is for how many seconds a preflight holds; nil where nobody says it.
func maxAge(r *report, p *CORSPolicy, at api.Path) *uint32 {
	if p.MaxAge == "" {
		return nil
	}
	d, err := time.ParseDuration(p.MaxAge)
	seconds := d.Seconds() + 0.5
	if err != nil || d < 0 || seconds > 1<<31 {
		r.fails(corsError, badCORS, at, "%q is no time for a browser to keep an answer; write one such as 10m, or 0 for none", redact.Clip(p.MaxAge))
		return nil
	}
	return new(uint32(seconds))
}

// originOf reads one of the allowed origins: what is a scheme and a host alone is compared
// with, the rest is an expression.
func originOf(text string) (out route.AllowedOrigin, err error) {
	out.Text = text
	if text == "*" {
		out.Is, err = match.Has(match.OnHeader, route.RequestOrigin, 0)
		return out, err
	}
	if u, parsed := url.Parse(text); parsed == nil && u.Host != "" && *u == (url.URL{Scheme: u.Scheme, Host: u.Host}) {
		out.Is, err = match.Compare(match.OnHeader, route.RequestOrigin, match.Equal, 0, text)
		return out, err
	}
	out.Is, err = match.MatchAll(match.OnHeader, route.RequestOrigin, 0, text)
	return out, err
}

// hostCORS is the policy of the first line that forwards: that of the host, which all
// others must have too.
func hostCORS(lines []route.Line) *route.CORS {
	for i := range lines {
		if _, forwards := lines[i].Do.(*route.Forward); forwards {
			return route.CORSOf(lines[i].Filters)
		}
	}
	return nil
}

// corsPolicy writes the policy of the host.
func corsPolicy(c *route.CORS) *CORSPolicy {
	if c == nil {
		return nil
	}
	out := &CORSPolicy{AllowCredentials: c.Credentials, AllowMethods: c.Methods, AllowHeaders: c.Headers, ExposeHeaders: c.Expose}
	for i := range c.Origins {
		out.AllowOrigin = append(out.AllowOrigin, originText(&c.Origins[i]))
	}
	if c.MaxAge != nil {
		out.MaxAge = fmt.Sprintf("%ds", *c.MaxAge)
	}
	return out
}

func originText(o *route.AllowedOrigin) string {
	if o.Is.Op == match.Present {
		return "*"
	}
	if text := o.Means(); o.Is.Op == match.FullMatch && text != o.Is.Text() { // a plain origin
		return text
	}
	return o.Is.Value
}

// cors wants of a line that forwards the policy of the host.
func (p *printer) cors(own *route.CORS) {
	if p.host == nil && own == nil {
		return
	}
	if !p.host.Same(own) {
		p.Fail(route.UnsaidFilter, "an %s answers the preflights of browsers (CORS) for all routes of a host alike", KindHTTPProxy)
		return
	}
	if len(own.Origins) == 0 || len(own.Methods) == 0 {
		p.Fail(route.UnsaidFilter, "the corsPolicy of an %s names origins and methods", KindHTTPProxy)
	}
	for i := range own.Origins {
		o := &own.Origins[i]
		if read, err := originOf(originText(o)); err != nil || read.Means() != o.Means() {
			p.Fail(route.UnsaidFilter, "an %s cannot name the origins that %s stands for", KindHTTPProxy, o.Text)
		}
	}
}
