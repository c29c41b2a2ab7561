package sim

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/wire"
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

// plainHost is a host that nobody refuses.
var plainHost = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)

// doubtHost says where a header gives a host that may be refused on the way.
func (b *Branch) doubtHost(w *route.Rewrite) {
	if w == nil || w.HostHeader == "" {
		return
	}
	sent := []*wire.Forwarded{b.Forwarded}
	for i := range b.Backends {
		sent = append(sent, b.Backends[i].Forwarded)
	}
	for _, f := range sent {
		if f != nil && !plainHost.MatchString(f.Authority) {
			b.unknown = append(b.unknown, fmt.Sprintf("host: whether %q from header %s passes depends on what the backend speaks", f.Authority, w.HostHeader))
			return
		}
	}
}

// doubtAnswer notes where an answer in the place of a backend's may be filled with what
// came, and not with what would go on: changes are those that the verdict shows.
func doubtAnswer(c *wire.Call, x *Backend, filters []route.Filter, changes *wire.ResponseHeaders) {
	if x.Status != 0 && !changes.Same(wire.ResponseChanges(filters, c.Filling(nil))) {
		c.Doubt("headers: the answer in the place of " + x.Name + " may be filled with what came, and not with what would go on")
	}
}
