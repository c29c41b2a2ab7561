package lookup

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/wire"
)

// askedHost is the outbound to the host that a request asks for, of those at the
// address of o; nil where none fits: then the proxy has no route.
func askedHost(r *effective.Resolved, o *effective.Outbound, authority string) *effective.Outbound {
	var there []*effective.Outbound
	for _, x := range r.Outbounds {
		if x.Address == o.Address && x.Port == o.Port {
			there = append(there, x)
		}
	}
	return closest(there, wire.HostOf(authority))
}

// caught is an outbound at the address where calls to hosts are looked at before they go
// on to a, which nobody else has; nil where they are not.
func caught(r *effective.Resolved, a *wire.URL) *effective.Outbound {
	ip, notIP := netip.ParseAddr(a.Host)
	if slices.Contains(slices.Collect(spec(r).Addresses()), ip) {
		return nil
	}
	i := slices.IndexFunc(r.Outbounds, func(o *effective.Outbound) bool {
		return o.Passthrough && o.Port == a.Port && (notIP != nil || strings.Contains(o.Address, ":") == ip.Is6())
	})
	if i < 0 {
		return nil
	}
	return r.Outbounds[i]
}

// noHost is what becomes of a request at the address of o that is for none of the hosts
// there.
func (f *Found) noHost(o *effective.Outbound, q *wire.Request) error {
	c, answer := f.Call, uint32(http.StatusNotFound)
	if o.Passthrough {
		var err error
		c.AnyMethod = true
		if answer, err = f.receive(q); err != nil {
			return err
		}
		if answer == 0 && c.Upgrade == wire.UnknownUpgrade {
			answer = http.StatusForbidden
		}
		f.Forwarded = &wire.Forwarded{Method: c.Method, Authority: c.Authority, Path: c.Path + c.Query, Headers: c.Sent}
	}
	f.end(nil, answer, wire.AnyDraw[0])
	return nil
}
