package sim

import (
	"fmt"
	"strconv"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/wire"
)

// redirect builds the location as Envoy does: it keeps what the redirect does
// not name, the query always, and the port of the Host header unless the
// redirect names host or port, or leaves a scheme whose own port it is.
func redirectOf(c *wire.Call, d *route.Redirect, m *match.Match) Branch {
	scheme := c.Headers["x-forwarded-proto"]
	if scheme != "http" && scheme != "https" {
		scheme = "http"
	}
	host, port := c.Authority, ""
	if d.Port != 0 {
		port = ":" + strconv.FormatUint(uint64(d.Port), 10)
	}
	target := scheme
	if d.Scheme != "" {
		target = d.Scheme
	}
	if d.Hostname != "" {
		host = d.Hostname
	} else if bare, own, ok := wire.CutPort(host); ok {
		leaves := target != scheme && (scheme == "http" && own == ":80" || scheme == "https" && own == ":443")
		if port != "" || leaves {
			host = bare
		}
	}
	path := c.Path
	if p, ok := d.Path.Of(m.Path(), c.Path); ok {
		path = p
	}
	b := respond(c, d.Status)
	if b.Status == 0 {
		b.Status = 302
	}
	b.Outcome = Redirect
	b.Location = fmt.Sprintf("%s://%s%s%s%s", target, host, port, path, c.Query)
	return b
}
