package sim

import (
	"cmp"
	"net/http"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/wire"
)

// refuses reports whether the proxy answers c where rt would forward it.
func refuses(c *wire.Call, rt *effective.Route) bool {
	return c.Upgrade == wire.WebSocket && rt.Upgrade == route.UpgradeOff && forwards(rt)
}

// refuse is what becomes of a WebSocket where rt takes none: no filter of Envoy's
// sees it, but its answer has the headers of the route and of a drawn backend.
func (t trace) refuse(rt *effective.Route, c *wire.Call) Branch {
	b := respond(c, http.StatusForbidden)
	b.Backends = shares(t.from, rt.Backends, t.draws)
	for i := range b.Backends {
		b.Backends[i].Status, b.Backends[i].Reason = b.Status, "the route refuses WebSockets"
	}
	answered(rt, &b, c)
	for i := range b.Backends {
		b.answers(b.Backends[i].ResponseHeaders)
	}
	b.ResponseHeaders = cmp.Or(b.ResponseHeaders, wire.ResponseChanges(rt.Changes(), c.Filling(nil)))
	b.answers(b.ResponseHeaders)
	b.Route = routeOf(rt)
	b.unknown = append(b.unknown, c.Doubts...)
	b.forget()
	return b
}
