package retry

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// RetryPlan is what Envoy does with the policy that WriteRoute gives it.
//
// A failed attempt counts as 5xx and as a gateway error before it counts as a
// reset or a refused connection, so those two words repeat all failures.
func (c *Conf) RetryPlan(p api.Protocol) (timeline.RetryPlan, bool) {
	s, http, ok := c.block(p)
	if !ok || s.count() == 0 {
		return timeline.RetryPlan{}, false
	}
	on := s.conditions
	base, longest := s.interval()
	plan := timeline.RetryPlan{
		Retries:    s.count(),
		Status:     on.status,
		GRPCStatus: on.grpcStatus,
		Reset:      on.repeats("Reset"),
		Connect:    on.repeats("ConnectFailure"),
		Request:    func(string, wire.Headers) bool { return true },
		Base:       base,
		Max:        longest,
	}
	if s.perTry != nil {
		plan.PerTry = time.Duration(*s.perTry)
	}
	if http != nil {
		request, answer, err := http.headers()
		if err != nil {
			return timeline.RetryPlan{}, false
		}
		if len(answer) > 0 {
			plan.Headers = func(h wire.Headers) bool { return anyOf(answer, &match.Request{Header: h.Values}) }
		}
		if len(request) > 0 {
			plan.Request = func(method string, h wire.Headers) bool {
				return anyOf(request, &match.Request{Method: method, Header: h.Values})
			}
		}
	}
	return plan, true
}

// status reports whether an answer with that status is repeated.
func (c conditions) status(status uint32) bool {
	return c.has("5xx") && status >= 500 && status <= 599 ||
		c.has("GatewayError") && status >= 502 && status <= 504 ||
		c.has("Retriable4xx") && status == 409 ||
		slices.Contains(c.statuses, status)
}

// grpcStatus is the same for a status of gRPC.
func (c conditions) grpcStatus(status uint32) bool {
	return slices.ContainsFunc(c.words, func(w word) bool { return w.grpc && grpcStatus[w.name] == status })
}

// anyOf reports whether one of the conditions holds; false where there are none.
func anyOf(conditions match.Conditions, r *match.Request) bool {
	for i := range conditions {
		if conditions[i].Holds(r) {
			return true
		}
	}
	return false
}
