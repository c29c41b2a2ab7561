package kuma

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// OutboundKRI is by what an outbound of a dataplane is asked for.
func OutboundKRI(m *resolve.Reader, c *api.Catalog, mesh string, o *effective.Outbound) string {
	return kris{m, c}.destination(mesh, o.Destination)
}
