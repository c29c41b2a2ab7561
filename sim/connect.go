package sim

import (
	"github.com/weftmesh/weft/resolve/effective"
)

// Connections are the exact parts of the connections that backends get.
func Connections(r *effective.Resolved, t *effective.TCPTable) []Backend {
	return closing(Shares(r, t.Backends))
}

// closing says what becomes of the shares of a table of connections that nobody
// can take: there is no status to answer with.
func closing(list []Backend) []Backend {
	for i := range list {
		if x := &list[i]; x.Reason != "" {
			x.Status, x.Outcome = 0, Close
		}
	}
	return list
}
