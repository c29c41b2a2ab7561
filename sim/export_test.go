package sim

import (
	"github.com/weftmesh/weft/sim/wire"
)

// ShareOf is the part of the requests with draws in which Envoy chooses the weights
// from low until high, of total.
func ShareOf(list []wire.Span, low, high, total uint64) float64 {
	return wire.Draws(list).Share(low, high, total)
}
