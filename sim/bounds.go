package sim

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/resolve/effective"
)

// streamBound is the bound on each attempt that the clusters of rt have; zero
// where they have none, or differ: see unknownInTime.
func streamBound(r *effective.Resolved, rt *effective.Route) time.Duration {
	bounds := streamBounds(r, rt)
	if len(bounds) != 1 {
		return 0
	}
	return bounds[0]
}

// streamBounds are the different bounds on attempts of the clusters of rt.
func streamBounds(r *effective.Resolved, rt *effective.Route) []time.Duration {
	var out []time.Duration
	for _, b := range rt.Backends {
		use := clusterOf(r, b.Cluster)
		if b.Weight == 0 || use.Cluster == nil {
			continue
		}
		var d time.Duration
		for _, e := range use.Policies {
			if x, ok := e.Conf.(Timer); ok {
				d = x.Timeouts().Stream
			}
		}
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// never is later than any bound.
const never = time.Duration(1<<63 - 1)

// requestBound is the bound on the request, which counts from when it goes on; zero is none.
func (p *player) requestBound() time.Duration {
	if p.bounds.Request <= 0 {
		return 0
	}
	return p.delay + p.bounds.Request
}

// deadline is the bound on the request as a whole that fires first. Neither an
// attempt nor a back-off moves it.
func (p *player) deadline() (time.Duration, Ended) {
	request, idle := p.requestBound(), p.bounds.StreamIdle
	switch {
	case request > 0 && (idle <= 0 || request <= idle):
		return request, ByRequestTimeout
	case idle > 0:
		return idle, ByStreamIdleTimeout
	}
	return never, ""
}
