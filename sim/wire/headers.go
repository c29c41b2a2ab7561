package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Separator keeps the values of a repeated header apart in Headers. No value can
// hold a line feed: UnmarshalJSON and the command line refuse one.
const Separator = "\n"

// Add appends one header line, as a client sends it.
func (h Headers) Add(name, value string) {
	name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
	if old, ok := h[name]; ok {
		value = old + Separator + value
	}
	h[name] = value
}

// Values are the lines of one header, none where it is missing.
func (h Headers) Values(name string) []string {
	v, ok := h[name]
	if !ok {
		return nil
	}
	return strings.Split(v, Separator)
}

// GRPC reports whether a proxy that has read h takes the request for one of gRPC,
// and so gives it answers of gRPC.
func (h Headers) GRPC() bool {
	content := h["content-type"]
	return content == "application/grpc" || strings.HasPrefix(content, "application/grpc+")
}

// MarshalJSON joins repeated values by a comma.
func (h Headers) MarshalJSON() ([]byte, error) {
	out := make(map[string]string, len(h))
	for name, v := range h {
		out[name] = strings.ReplaceAll(v, Separator, ",")
	}
	return json.Marshal(out)
}

// UnmarshalJSON takes for each name a text, or a list of texts where the header
// is repeated.
func (h *Headers) UnmarshalJSON(data []byte) error {
	var raw map[string]any
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*h = Headers{}
	for _, name := range slices.Sorted(maps.Keys(raw)) { // X and x are one header
		list, ok := raw[name].([]any)
		if !ok {
			list = []any{raw[name]}
		}
		for _, item := range list {
			text, ok := item.(string)
			if !ok {
				return fmt.Errorf("headers.%s: %v is not a text; put it in quotes", name, item)
			}
			if strings.Contains(text, Separator) {
				return fmt.Errorf("headers.%s: the value holds a line feed; write the values of a repeated header as a list", name)
			}
			h.Add(name, text)
		}
	}
	return nil
}

// joins are the headers whose repeated lines Envoy joins by a comma as it reads
// them; the lines of all others stay apart, and a match holds if it holds for
// one of them (both measured on Envoy 1.40).
var joins = []string{
	"accept", "accept-encoding", "access-control-request-headers", "access-control-request-method", "authorization",
	"cache-control", "content-encoding", "content-type", "expect", "grpc-accept-encoding", "grpc-timeout", "if-match",
	"if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "origin", "pragma", "proxy-status", "referer",
	"user-agent", "via", "x-client-trace-id", "x-envoy-attempt-count", "x-envoy-decorator-operation", "x-envoy-external-address",
	"x-envoy-original-host", "x-envoy-original-path", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
	"x-request-id",
}

// Joined is one line of several, as Envoy makes it: empty ones leave no trace.
func Joined(lines ...string) string {
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), ",")
}

// hop are headers that concern one connection, or that Envoy takes as orders
// from its own workload; none of them reaches a backend.
var hop = []string{
	"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
	"x-envoy-expected-rq-timeout-ms", "x-envoy-force-trace", "x-envoy-hedge-on-per-try-timeout", "x-envoy-internal",
	"x-envoy-ip-tags", "x-envoy-max-retries", "x-envoy-retriable-header-names", "x-envoy-retriable-status-codes",
	"x-envoy-retry-grpc-on", "x-envoy-retry-on", "x-envoy-upstream-alt-stat-name", "x-envoy-upstream-rq-per-try-timeout-ms",
	"x-envoy-upstream-rq-timeout-alt-response", "x-envoy-upstream-rq-timeout-ms", "x-envoy-upstream-stream-duration-ms",
	"x-forwarded-client-cert",
}

// internalHeader is what Envoy gives requests that it takes for its own mesh's.
const internalHeader = "x-envoy-internal"

// trusted are headers of a request that Envoy keeps where it takes it for its own mesh's.
var trusted = []string{"x-envoy-force-trace", "x-envoy-ip-tags"}

// internal reports whether Envoy takes a request for one of its own mesh: it says that
// it comes from one address, and that is one of the listener's internal ones.
func internal(sent Headers) bool {
	a, err := netip.ParseAddr(strings.TrimSpace(Joined(sent.Values("x-forwarded-for")...)))
	return err == nil && (a == netip.IPv6Loopback() || a == netip.AddrFrom4([4]byte{127, 0, 0, 1}))
}

// received are the headers as Envoy has them when it matches routes, by the version
// of HTTP in which they came.
func received(sent Headers, http2 bool) Headers {
	out := Headers{}
	sent = lower(sent)
	inside := internal(sent)
	if inside {
		out[internalHeader] = "true"
	}
	for name, v := range sent {
		kept := inside && slices.Contains(trusted, name)
		if name == "host" || slices.Contains(hop, name) && !kept || name == "te" && !slices.Contains(words(v), "trailers") {
			continue
		}
		switch {
		case name == "te":
			v = "trailers" // all that Envoy lets through
		case name == "expect" && strings.EqualFold(v, "100-continue"):
			continue // which Envoy answers itself
		case kept || slices.Contains(joins, name):
			v = Joined(strings.Split(v, Separator)...)
		case name == "cookie" && http2:
			v = joinCookies(strings.Split(v, Separator))
		}
		if name == "referer" && !refers(v) {
			continue
		}
		if v == "" && (name == idHeader || name == "cookie" && http2) {
			continue // Envoy makes the one up, and forgets the other
		}
		out[name] = v
	}
	return out
}

// joinCookies joins the lines of cookie, as HTTP/2 does (RFC 9113, 8.2.3). An empty one
// behind others leaves its separator.
func joinCookies(lines []string) string {
	out := ""
	for _, l := range lines {
		if out != "" {
			out += "; "
		}
		out += l
	}
	return out
}

// Headers are by lower-case name. The values of a repeated header are kept apart;
// as JSON they are joined by a comma.
type Headers map[string]string
