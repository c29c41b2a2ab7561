package sim

import (
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/wire"
)

// connect sends a connection to where whole connections go, and with it the
// request f, if it carries one.
func (t trace) connect(l *lookup.End, f *wire.Forwarded) Branch {
	o := l.Outbound
	b := Branch{Probability: 1, Outcome: Close, Policies: PolicyViews(o.Policies, o.Protocol())}
	if l.Connections == nil {
		return b
	}
	b.Reason = weightless(l.Connections.Backends)
	b.Policies = ConnectionPolicies(t.from, o, l.Connections.Backends)
	b.Backends = closing(t.backends(l.Connections.Backends))
	tellOnward(b.Backends, Onward(t.from, o.Policies, l.Connections.Backends, o.Protocol()))
	for n := range b.Backends {
		for k := range b.Backends[n].Inbounds {
			in := &b.Backends[n].Inbounds[k]
			if in.carried(f); in.denied() {
				in.keepOut(false)
			}
		}
	}
	if len(l.Connections.Origins) > 0 {
		b.Route = &Route{Origins: l.Connections.Origins, ServerName: l.Chain}
	}
	if slices.ContainsFunc(b.Backends, func(x Backend) bool { return x.Outcome != Close }) {
		b.Outcome, b.Forwarded = Forward, f
	}
	return b
}

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
