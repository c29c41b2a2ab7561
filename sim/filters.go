package sim

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// filtered applies the filters of single backends to what a backend sees, after
// those of the route, and to its answers. One outside the mesh that has its own
// host name by now keeps it; all others were sent to authority, or to what a header
// names where the rewrite takes the host from one, and without that to its own host
// name, or where it has none to that which c asks for.
func filtered(rt *effective.Route, b *Branch, rewrite *route.Rewrite, authority string, c *wire.Call, spoken api.Protocol) {
	for n, x := range effective.Sharing(rt.Backends) {
		if len(x.Filters) == 0 {
			continue
		}
		f := b.sentTo(n).Clone()
		of := c.Filling(slices.Concat(rt.Filters, x.Filters))
		if fills, _ := route.Fills(rt.Filters); fills { // Envoy makes both changes at once
			again := c.Forward(rt, rewrite, x.Filters...)
			again.OnWire, again.Authority = c.SendOnWire(rt, rewrite, timeline.FirstAttemptBound(rt, spoken), x.Filters...), f.Authority
			f = again
		}
		f.ChangeBy(x.Filters, of)
		f.OnWire.ChangeBy(x.Filters, of)
		host := c.Authority
		if w := route.LastRewrite(x.Filters); w != nil && w.Hostname != "" && f.Authority == authority {
			host, f.Authority = w.Hostname, w.Hostname
			delete(f.Headers, "x-envoy-original-host")
		}
		f.TakeHost(rewrite, host)
		b.send(n, f)
	}
	answered(rt, b, c)
}

// answered applies them to the answers: before the filters of the route. Where these fill
// headers with what went on, a backend's answers are its own too.
func answered(rt *effective.Route, b *Branch, c *wire.Call) {
	_, fills := route.Fills(rt.Filters)
	for n, x := range effective.Sharing(rt.Backends) {
		if len(x.Filters) == 0 && !fills {
			continue
		}
		of := c.Filling(nil)
		if f := b.sentTo(n); f != nil {
			of = f.Filling(c)
		}
		filters := slices.Concat(x.Filters, rt.Changes())
		response := wire.ResponseChanges(filters, of)
		doubtAnswer(c, &b.Backends[n], filters, response)
		if response == nil { // and not what holds for all
			response = &wire.ResponseHeaders{Set: wire.Headers{}, Add: wire.Headers{}}
		}
		if len(b.Backends) == 1 {
			b.ResponseHeaders = response
		} else {
			b.Backends[n].ResponseHeaders = response
		}
	}
}
