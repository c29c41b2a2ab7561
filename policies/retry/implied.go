package retry

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/policies"
)

// implies is what Envoy repeats beside the conditions that a list names: the words of the default,
// where it names none, and what counts as one of its words before it counts as anything else.
func implies(conf policies.Conf, path string) (also []string, keeps func(any) bool) {
	c := conf.(*Conf)
	var s shared
	var written []string
	switch {
	case path == "http.retryOn" && c.HTTP != nil:
		s, written = c.HTTP.shared(), c.HTTP.RetryOn
	case path == "grpc.retryOn" && c.GRPC != nil:
		s, written = c.GRPC.shared(), c.GRPC.RetryOn
	default:
		return nil, nil
	}
	if s.count() == 0 {
		return nil, nil
	}
	on := s.conditions
	for _, w := range words {
		switch {
		case slices.Contains(written, w.name) || !on.repeats(w.name):
		case w.name == "GatewayError" && on.has("5xx"), w.name == "ResetBeforeRequest" && on.repeats("Reset"): // part of another
		default:
			also = append(also, w.envoy)
		}
	}
	if s.perTry != nil && *s.perTry > 0 && on.repeats("Reset") {
		also = append(also, "attempts that perTryTimeout ends")
	}
	if c.HTTP != nil && path == "http.retryOn" && len(c.HTTP.RetriableResponseHeaders) > 0 && !on.has("RetriableHeaders") {
		also = append(also, headerWord)
	}
	return also, on.covers
}

// repeats reports whether what a word stands for is repeated, be it by another. A failed attempt counts
// as 5xx and as a gateway error before it counts as a reset or a refused connection.
func (c conditions) repeats(name string) bool {
	switch name {
	case "GatewayError":
		return c.has(name, "5xx")
	case "Reset", "RefusedStream":
		return c.has(name, "5xx", "GatewayError", "Reset")
	case "ResetBeforeRequest":
		return c.has(name, "5xx", "GatewayError", "Reset")
	case "ConnectFailure":
		return c.has(name, "5xx", "GatewayError", "Reset", "ResetBeforeRequest")
	}
	return c.has(name)
}

// covers reports whether everything that a list repeats is repeated. One that is limited to methods
// says something else.
func (c conditions) covers(value any) bool {
	list, ok := value.([]string)
	if !ok || len(list) == 0 || len(c.methods) > 0 {
		return false
	}
	for _, item := range list {
		n, err := strconv.ParseUint(item, 10, 32)
		switch {
		case strings.HasPrefix(item, "HttpMethod"):
			return false
		case err == nil && !c.status(uint32(n)), err != nil && !c.repeats(item):
			return false
		}
	}
	return true
}
