package sim

import (
	"fmt"
	"slices"
	"strings"
)

// special are headers that Envoy treats itself before it looks for a route, in a
// way that the simulator does not follow, by name: what it does.
var special = []struct{ name, does string }{
	{"content-length", "Envoy holds the body against it"},
	{"expect", "it is the workload that decides what to do with another value than 100-continue"},
	{"x-forwarded-for", "whether Envoy counts the request as its own mesh's depends on it, and with that which x-envoy headers stay"},
	{"x-forwarded-proto", "Envoy may take it for the scheme, or replace it"},
}

// harmless are the values of special headers that mean nothing special.
var harmless = map[string][]string{
	"content-length": {"0"}, "expect": {"100-continue"}, "x-forwarded-proto": {"http"},
}

// Bounds of Envoy on the headers of a request: beyond them it answers 431. The
// simulator does not count what Envoy and clients add, so it warns before.
const (
	nearMaxHeaders     = 90
	nearMaxHeaderBytes = 56 << 10
)

// unknownOf says what Envoy does with a request over HTTP that the simulator
// does not know.
func unknownOf(q Request) []string {
	lower := Headers{}
	lines, size := 0, len(q.URL)
	for name, v := range q.Headers {
		name = strings.ToLower(strings.TrimSpace(name))
		lower[name] = v
		for _, line := range strings.Split(v, repeat) {
			lines++
			size += len(name) + len(line)
		}
	}
	var out []string
	for _, s := range special {
		v, ok := lower[s.name]
		if ok && !slices.Contains(harmless[s.name], strings.ToLower(strings.TrimSpace(v))) {
			out = append(out, fmt.Sprintf("header %s: %s", s.name, s.does))
		}
	}
	if v, ok := lower["te"]; ok && (len(words(v)) == 0 || upgradeOf(q.Headers) == webSocket && v != "trailers") {
		out = append(out, "header te: Envoy may send it on as it is, and in HTTP/2, and so between most sidecars, only trailers is taken")
	}
	if v, ok := lower["host"]; ok && (strings.TrimSpace(v) == "" || strings.Contains(v, "@")) {
		out = append(out, "header host: in HTTP/2, and so between most sidecars, it is refused, with 502 by the caller's")
	}
	if lines > nearMaxHeaders || size > nearMaxHeaderBytes {
		out = append(out, fmt.Sprintf("%d headers with %d bytes: Envoy answers 431 to more than 100 headers or 60 KiB", lines, size))
	}
	return out
}

// RetryBudget is what a verdict with repeats does not know: what else is under way.
const RetryBudget = "answers: a request is not repeated while 3 others to the same cluster are being repeated"

// unknownInTime says what else decides about the attempts of a request.
func unknownInTime(list []Attempt) []string {
	if len(list) < 2 {
		return nil
	}
	return []string{RetryBudget}
}
