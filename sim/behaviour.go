package sim

import (
	"cmp"
	"fmt"
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

// Limiter admits requests by a bucket.
type Limiter interface {
	Bucket() (b Bucket, ok bool)
	// RateField is the path of the field whose author owns the bucket.
	RateField() string
}

// Bucket holds Tokens and Burst at most, is full at first, and is filled evenly: one
// token each Interval/Tokens.
type Bucket struct {
	Tokens   uint32
	Burst    uint32
	Interval time.Duration
	// Status is what a request without a token gets.
	Status uint32
	// Set and Add are response headers of that answer.
	Set, Add []Header
}

// answer is what tells two answers to requests over the limit apart.
func (b Bucket) answer() string { return fmt.Sprintf("%d %q %q", b.Status, b.Set, b.Add) }

// Header is one header of an answer.
type Header struct{ Name, Value string }

// behaviour is how the policies of rt repeat requests and bound them in time.
func behaviour(rt *effective.Route, spoken api.Protocol) (plan RetryPlan, bounds Timeouts) {
	for _, e := range rt.Policies {
		if x, ok := e.Conf.(Retrier); ok {
			if p, ok := x.RetryPlan(spoken); ok {
				plan = p
			}
		}
		if x, ok := e.Conf.(Timer); ok {
			bounds = x.Timeouts()
		}
	}
	return plan, bounds
}

// Admit says which of the requests at these times, counted from when the bucket
// was made and in order, get a token.
func (b Bucket) Admit(at []time.Duration) []bool {
	out := make([]bool, len(at))
	if b.Interval <= 0 {
		return out
	}
	rate := float64(b.Tokens) / b.Interval.Seconds()
	most := float64(b.Tokens) + float64(b.Burst)
	tokens, last := most, time.Duration(0)
	for i, t := range at {
		tokens = min(most, tokens+(t-last).Seconds()*rate)
		last = t
		if tokens >= 1 {
			tokens--
			out[i] = true
		}
	}
	return out
}

// firstBound is how long the first attempt of a request of rt may take; 0 for as long as it likes.
func firstBound(rt *effective.Route, spoken api.Protocol) time.Duration {
	plan, bounds := behaviour(rt, spoken)
	limit := cmp.Or(plan.PerTry, bounds.Request)
	if bounds.Request > 0 {
		limit = min(limit, bounds.Request)
	}
	return limit
}
