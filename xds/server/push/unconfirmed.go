package push

import (
	"time"

	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/subscription"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// mostResolving bounds the clusters that are named of those that a client may wait for.
const mostResolving = 10

// unanswered is a response that a client takes too long to answer.
func unanswered(r *subscription.Response) syncstatus.Unconfirmed {
	u := syncstatus.Unconfirmed{Type: r.Type.String(), Requested: true, Since: r.At}
	for _, v := range r.Changed {
		resolving(&u, v.Resource)
	}
	return u
}

// unasked says that an Envoy which has its clusters since a time does not ask for listeners.
func unasked(since time.Time, clusters []*resource.Resource) syncstatus.Unconfirmed {
	u := syncstatus.Unconfirmed{Type: subscription.Listeners.String(), Since: since}
	for _, c := range clusters {
		resolving(&u, c)
	}
	return u
}

// resolving notes a resource if it is a cluster that is reached by names, of few.
func resolving(u *syncstatus.Unconfirmed, r *resource.Resource) {
	if r.Resolves && len(u.Resolving) < mostResolving {
		u.Resolving = append(u.Resolving, r.Name)
	}
}
