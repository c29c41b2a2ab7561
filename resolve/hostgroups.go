package resolve

import (
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
)

// by id

// groupOutbounds are the outbounds that the dataplanes of a group share, by destination.
type groupOutbounds struct {
	list   []*effective.Outbound
	failed *derive.Failed
}
