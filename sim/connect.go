package sim

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/resolve"
)

// bareScheme is that of a URL by which a connection is asked for, whatever it carries.
const bareScheme = "tcp"

// bare reports whether q asks for a connection and says nothing of what it carries.
func (q *Request) bare() bool {
	scheme, _, _ := strings.Cut(q.URL, "://")
	return strings.EqualFold(scheme, bareScheme)
}

// connect sends a connection to where whole connections go, and with it the
// request f, if it carries one.
func (t trace) connect(o *resolve.Outbound, f *Forwarded) Branch {
	b := Branch{Probability: 1, Outcome: Close, Policies: PolicyViews(o.Policies, o.Protocol())}
	if o.TCP == nil {
		return b
	}
	b.Backends = closing(t.backends(o.TCP.Backends))
	if len(o.TCP.Origins) > 0 {
		b.Route = &Route{Origins: o.TCP.Origins}
	}
	if slices.ContainsFunc(b.Backends, func(x Backend) bool { return x.Outcome != Close }) {
		b.Outcome, b.Forwarded = Forward, f
	}
	return b
}

// Connections are the exact parts of the connections that backends get.
func Connections(r *resolve.Resolved, t *resolve.TCPTable) []Backend {
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
