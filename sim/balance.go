package sim

import (
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// doubtEndpoint says where a hash decides which endpoint answers: the shares of the
// called dataplanes are those of all requests together, and not of this one.
func (b *Branch) doubtEndpoint(rt *effective.Route) {
	for _, x := range rt.Backends {
		if x.Gets() && x.Balance.SlowStart > 0 {
			b.unknown = append(b.unknown, "balance: endpoints of "+x.Name+" that are new have less than their share for "+x.Balance.SlowStart.String())
		}
	}
	if !slices.ContainsFunc(rt.Backends, func(x effective.Backend) bool { return x.Gets() && x.Balance.Algorithm == route.RingHash }) {
		return
	}
	b.unknown = append(b.unknown, "balance: a hash of "+route.HashText(rt.Hash)+" decides which endpoint answers; requests with the same come to the same, and the shares are those of all")
	for _, k := range rt.Hash {
		if k.Session {
			b.unknown = append(b.unknown, "balance: an answer to a request without cookie "+k.Cookie+" sets it")
		}
	}
}
