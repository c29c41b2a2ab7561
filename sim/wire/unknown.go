package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// special are headers that Envoy treats itself before it looks for a route, in a
// way that the simulator does not follow, by name: what it does.
var special = []struct{ name, does string }{
	{"content-length", "Envoy holds a body of another length against it"},
	{"expect", "it is the workload that decides what to do with another value than 100-continue"},
	{"x-forwarded-proto", "Envoy may take it for the scheme, or replace it"},
}

// harmless are the values of special headers that mean nothing special.
var harmless = map[string][]string{
	"expect": {"100-continue"}, "x-forwarded-proto": {"http"},
}

// UnknownHeaders says what Envoy does with a request over HTTP that the simulator
// does not know.
func UnknownHeaders(q Request) []string {
	given := lower(q.Headers)
	var out []string
	for _, s := range special {
		v, ok := given[s.name]
		if s.name == "content-length" && v == strconv.FormatInt(q.Body, 10) {
			continue
		}
		if ok && !slices.Contains(harmless[s.name], strings.ToLower(strings.TrimSpace(v))) {
			out = append(out, fmt.Sprintf("header %s: %s", s.name, s.does))
		}
	}
	if v, ok := given["te"]; ok && (len(words(v)) == 0 || UpgradeOf(q.Headers) == WebSocket && v != "trailers") {
		out = append(out, "header te: Envoy may send it on as it is, and in HTTP/2, and so between most sidecars, only trailers is taken")
	}
	if v, ok := given["host"]; ok && (strings.TrimSpace(v) == "" || strings.Contains(v, "@")) {
		out = append(out, "header host: in HTTP/2, and so between most sidecars, it is refused, with 502 by the caller's")
	}
	return out
}
