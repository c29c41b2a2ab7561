package retry

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// RetryPlan is what Envoy does with the policy that WriteRoute gives it.
//
// A failed attempt counts as 5xx and as a gateway error before it counts as a
// reset or a refused connection, so those two words repeat all failures.
func (c *Conf) RetryPlan(p api.Protocol) (sim.RetryPlan, bool) {
	s, http, ok := c.block(p)
	if !ok || s.count() == 0 {
		return sim.RetryPlan{}, false
	}
	on := s.conditions
	base, longest := s.interval()
	plan := sim.RetryPlan{
		Retries:    s.count(),
		Status:     on.status,
		GRPCStatus: on.grpcStatus,
		Reset:      on.has("5xx", "GatewayError", "Reset"),
		Connect:    on.has("5xx", "GatewayError", "Reset", "ConnectFailure"),
		Request:    func(string, sim.Headers) bool { return true },
		Headers:    func(sim.Headers) bool { return false },
		Base:       base,
		Max:        longest,
	}
	if s.perTry != nil {
		plan.PerTry = time.Duration(*s.perTry)
	}
	if http != nil {
		plan.Headers = anyHeader(http.RetriableResponseHeaders)
		if wanted := http.requestHeaders(); len(wanted) > 0 {
			matches := anyHeader(wanted)
			plan.Request = func(method string, headers sim.Headers) bool {
				all := sim.Headers{":method": method}
				for name, value := range headers {
					all[name] = value
				}
				return matches(all)
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

// anyHeader reports whether one of matches holds; false where there are none.
func anyHeader(matches []route.HeaderMatch) func(sim.Headers) bool {
	var tests []func(sim.Headers) bool
	for _, m := range matches {
		tests = append(tests, header(m))
	}
	return func(h sim.Headers) bool {
		return slices.ContainsFunc(tests, func(test func(sim.Headers) bool) bool { return test(h) })
	}
}

// header is one match, as xds.HeaderMatcher writes it.
func header(m route.HeaderMatch) func(sim.Headers) bool {
	// Each line of a repeated header is asked by itself.
	value := func(test func(string) bool) func(sim.Headers) bool {
		return func(h sim.Headers) bool { return slices.ContainsFunc(h.Values(m.Name), test) }
	}
	switch m.Type {
	case "Present":
		return value(func(string) bool { return true })
	case "Absent":
		return func(h sim.Headers) bool { _, there := h[m.Name]; return !there }
	case "Prefix":
		return value(func(v string) bool { return strings.HasPrefix(v, m.Value) })
	case "RegularExpression":
		whole, err := regexp.Compile("^(?:" + route.Bytewise(m.Value) + ")$")
		return value(func(v string) bool { return err == nil && whole.MatchString(route.Bytewise(v)) })
	}
	return value(func(v string) bool { return v == m.Value })
}
