package sim

import (
	"slices"

	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// filtered applies the filters of single backends to what a backend sees, after
// those of the route, and to its answers. One outside the mesh that has its own
// host name by now keeps it; all others were sent to authority, or to what a header
// names where the rewrite takes the host from one, and without that to its own host
// name, or where it has none to asked.
func filtered(rt *resolve.Route, b *Branch, rewrite *route.Rewrite, authority, asked string) {
	for n, x := range resolve.Sharing(rt.Backends) {
		if len(x.Filters) == 0 {
			continue
		}
		f := b.sentTo(n).clone()
		for j := range x.Filters {
			if m := x.Filters[j].RequestHeaders; m != nil {
				f.change(m)
				f.wire.change(m)
			}
		}
		host := asked
		if w := route.LastRewrite(x.Filters); w != nil && w.Hostname != "" && f.Authority == authority {
			host, f.Authority = w.Hostname, w.Hostname
			f.wire.Headers["x-envoy-original-host"] = authority
			delete(f.Headers, "x-envoy-original-host")
		}
		f.takeHost(rewrite, host)
		b.send(n, f)
	}
	answered(rt, b)
}

// answered applies them to the answers: before the filters of the route.
func answered(rt *resolve.Route, b *Branch) {
	for n, x := range resolve.Sharing(rt.Backends) {
		if len(x.Filters) == 0 {
			continue
		}
		response := responseChange(slices.Concat(x.Filters, rt.Filters))
		if len(b.Backends) == 1 {
			b.ResponseHeaders = response
		} else {
			b.Backends[n].ResponseHeaders = response
		}
	}
}
