package skipper

import (
	"math"
	"net/url"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// redirectTo answers with a location: what the URL leaves out is the request's, and
// the scheme is https.
func redirectTo(c *call, e *effect) error {
	if e.moved != nil {
		return refused(c.at, unsupportedFilter, "the route redirects already; remove one redirectTo")
	}
	status := c.Args[0].Number
	if status != math.Trunc(status) || !slices.Contains([]uint32{301, 302, 303, 307, 308}, uint32(status)) {
		return refused(c.at, unsupportedFilter, "Envoy redirects with 301, 302, 303, 307 or 308 and not with %v; write one of them", status)
	}
	if err := plain(c, c.text(1)); err != nil {
		return err
	}
	to, err := url.Parse(c.text(1))
	switch {
	case err != nil || to.Opaque != "" || to.User != nil || to.Fragment != "" || !match.IsASCII(c.text(1)):
		return c.wrong("%q is no URL to redirect to; write one such as https://login.example.org/", redact.Clip(c.text(1)))
	case to.RawQuery != "":
		return refused(c.at, unsupportedFilter, "the URL has a query, and Envoy keeps that of the request; leave it out")
	case to.Scheme != "" && to.Scheme != "http" && to.Scheme != "https":
		return c.wrong("%q is no scheme of a location; write http or https", to.Scheme)
	}
	out := &route.Redirect{Scheme: "https", Hostname: to.Hostname(), Status: uint32(status)}
	if to.Scheme != "" {
		out.Scheme = to.Scheme
	}
	if p := to.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return c.wrong("%q is no port; write a number from 1 to 65535", p)
		}
		out.Port = uint32(n)
	}
	if path := to.EscapedPath(); path != "" {
		out.Path = &route.PathRewrite{Full: &path}
	}
	e.moved = out
	return nil
}
