package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/wire"
)

// The interfaces below are how a policy's conf tells the simulator what it does
// at run time. A conf implements those that concern it.

// Retrier repeats requests. ok is false where it does not apply to the protocol.
type Retrier interface {
	RetryPlan(api.Protocol) (plan RetryPlan, ok bool)
}

// RetryPlan is when and how often a request is sent again.
type RetryPlan struct {
	// Retries is how often at most, beside the first attempt.
	Retries uint32
	// Status reports whether an answer with that status is repeated.
	Status func(status uint32) bool
	// GRPCStatus is the same for the status of a gRPC answer.
	GRPCStatus func(status uint32) bool
	// Headers reports whether an answer with those headers is repeated, whatever its
	// status; nil where headers do not count.
	Headers func(headers wire.Headers) bool
	// Connect and Reset report whether a refused connection and a reset stream are repeated.
	Connect, Reset bool
	// Request reports whether a request of that method and those headers may be repeated at all.
	Request func(method string, headers wire.Headers) bool
	// PerTry bounds one attempt; zero: no bound of its own.
	PerTry time.Duration
	// Back-off before the n-th retry is drawn from [0, min(Base*2^(n-1), Max)): so
	// Envoy 1.40 measures, whatever its documentation says.
	Base, Max time.Duration
}

// Timer bounds a request in time.
type Timer interface {
	Timeouts() Timeouts
}

// Timeouts are the bounds that act on one request; zero: none. Stream bounds
// each attempt, by the policies of the cluster.
type Timeouts struct {
	Request, StreamIdle, Stream time.Duration
}

// TimeoutsOf are the bounds that policies set.
func TimeoutsOf(list effective.Policies) (bounds Timeouts) {
	for _, e := range list {
		if x, ok := e.Conf.(Timer); ok {
			bounds = x.Timeouts()
		}
	}
	return bounds
}

// RetriesAndTimeouts is how the policies of rt repeat requests and bound them in time.
func RetriesAndTimeouts(rt *effective.Route, spoken api.Protocol) (plan RetryPlan, bounds Timeouts) {
	for _, e := range rt.Policies {
		if x, ok := e.Conf.(Retrier); ok {
			if p, ok := x.RetryPlan(spoken); ok {
				plan = p
			}
		}
	}
	return plan, TimeoutsOf(rt.Policies)
}

// FirstAttemptBound is how long the first attempt of a request of rt may take; 0 for as long as it likes.
func FirstAttemptBound(rt *effective.Route, spoken api.Protocol) time.Duration {
	plan, bounds := RetriesAndTimeouts(rt, spoken)
	limit := cmp.Or(plan.PerTry, bounds.Request)
	if bounds.Request > 0 {
		limit = min(limit, bounds.Request)
	}
	return limit
}

// StreamBound is the bound on each attempt that the clusters of rt have; zero
// where they have none, or differ: see StreamBounds.
func StreamBound(r *effective.Resolved, rt *effective.Route) time.Duration {
	bounds := StreamBounds(r, rt)
	if len(bounds) != 1 {
		return 0
	}
	return bounds[0]
}

// StreamBounds are the different bounds on attempts of the clusters of rt.
func StreamBounds(r *effective.Resolved, rt *effective.Route) []time.Duration {
	var out []time.Duration
	for _, b := range rt.Backends {
		use := r.ClusterNamed(b.Cluster)
		if b.Weight == 0 || use.Cluster == nil {
			continue
		}
		d := TimeoutsOf(use.Policies).Stream
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}
