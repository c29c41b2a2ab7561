package sim

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// secureScheme is that of a URL for which a client speaks TLS: it names the host of the
// URL there.
const secureScheme = "https"

// atTLS finds what a client comes to who speaks TLS at the port of e: who asks there for a
// name that nobody has is not let in, and who then asks for a host of another certificate
// is told so.
func (f *found) atTLS(r *resolve.Resolved, e *resolve.Edge, q *Request) error {
	name := f.address.host
	if _, err := netip.ParseAddr(name); err == nil {
		name = "" // clients name no addresses
	}
	c := resolve.ChainFor(r.Chains(e), name)
	if f.outbound = nil; c == nil {
		f.shut = true
		f.end(nil, 0, anyDraw[0])
		return nil
	}
	host := hostOf(f.call.authority)
	o := nearest(c.Hosts, host)
	if misdirected(c, host, o) {
		f.end(nil, http.StatusMisdirectedRequest, anyDraw[0])
		return nil
	}
	if o == nil {
		f.end(nil, http.StatusNotFound, anyDraw[0])
		return nil
	}
	f.outbound = o
	return f.requests(o, q)
}

// misdirected reports whether a request for a host has come to the wrong chain, which has o
// for it, if anything.
func misdirected(c *resolve.Chain, host string, o *resolve.Outbound) bool {
	if o == nil && c.Own {
		return true
	}
	for _, name := range c.Others {
		if api.HostCovers(name, host) && (o == nil || o.Destination.Name != host && (name == host || len(name) > len(o.Destination.Name))) {
			return true
		}
	}
	return false
}

// hostOf is the host of an authority as proxies compare it.
func hostOf(authority string) string {
	host, _, _ := cutPort(authority)
	return strings.ToLower(host)
}

// nearest is the outbound to a host; nil where none fits. A name goes before what stands
// for all names below another one, and the longer of those first.
func nearest(list []*resolve.Outbound, host string) *resolve.Outbound {
	var found *resolve.Outbound
	for _, x := range list {
		switch {
		case !api.HostCovers(x.Destination.Name, host):
		case x.Destination.Name == host:
			return x
		case found == nil || len(x.Destination.Name) > len(found.Destination.Name):
			found = x
		}
	}
	return found
}
