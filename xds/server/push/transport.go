package push

import "github.com/weftmesh/weft/xds/server/subscription"

// Transport is how a Stream reaches whom it serves.
type Transport interface {
	subscription.Recipient
	// Wake has Stream.Pump called soon, from another goroutine. It does not wait.
	Wake()
}
