package listeners

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/backends"
	"github.com/weftmesh/weft/xds/envoy"
)

// chain is what one listener does with a connection: requests by a route
// configuration, or bytes to clusters.
type chain struct {
	place  envoy.Place
	stat   string // prefix of statistics
	routes string // name of the route configuration; empty for bytes
	hosts  bool   // routes are those of hosts
	passes bool   // what is for none of them goes on to where it was going
	split  backends.Split
	by     *api.Origin  // whose word split is; nil for nobody's
	names  []serverName // in place of split: by the names that clients ask for in TLS
	ps     effective.Policies
	of     []part          // what holds of some of its requests or callers alone
	edge   *effective.Edge // for clients from outside the mesh; nil for others
	bound  time.Duration   // how long connections live; 0: as long as they want
}

// serverName is where the bytes go of those who ask for a name in TLS.
type serverName struct {
	name  string
	split backends.Split
	by    *api.Origin
}

// parts are the chain itself, or one for each name that clients ask for in TLS.
func (c *chain) parts() []chain {
	if len(c.names) == 0 {
		return []chain{*c}
	}
	out := make([]chain, len(c.names))
	for i, n := range c.names {
		out[i] = *c
		out[i].names, out[i].split, out[i].by = nil, n.split, n.by
	}
	return out
}
