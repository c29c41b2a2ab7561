package retry

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// word is one text that may stand in retryOn, and how Envoy spells it.
type word struct {
	name, envoy string
	grpc        bool // allowed in the grpc block
}

// words are all texts but numbers and methods. Envoy spells the gRPC status 1
// with two l and ignores any other spelling, so spec/kuma.md 3.1 is not followed there. What a word
// repeats stands in behaviour.go too, and what it includes in implied.go.
var words = []word{
	{name: "5xx", envoy: "5xx"},
	{name: "GatewayError", envoy: "gateway-error"},
	{name: "Reset", envoy: "reset"},
	{name: "ResetBeforeRequest", envoy: "reset-before-request"},
	{name: "Retriable4xx", envoy: "retriable-4xx"},
	{name: "ConnectFailure", envoy: "connect-failure"},
	{name: "EnvoyRatelimited", envoy: "envoy-ratelimited"},
	{name: "RefusedStream", envoy: "refused-stream"},
	{name: "Http3PostConnectFailure", envoy: "http3-post-connect-failure"},
	{name: "RetriableStatusCodes", envoy: statusWord}, // the numbers beside it alone
	{name: "RetriableHeaders", envoy: headerWord},     // retriableResponseHeaders alone
	{name: "Canceled", envoy: "cancelled", grpc: true},
	{name: "DeadlineExceeded", envoy: "deadline-exceeded", grpc: true},
	{name: "Internal", envoy: "internal", grpc: true},
	{name: "ResourceExhausted", envoy: "resource-exhausted", grpc: true},
	{name: "Unavailable", envoy: "unavailable", grpc: true},
}

// The words without which Envoy looks at no status numbers, and at no headers of answers.
const statusWord, headerWord = "retriable-status-codes", "retriable-headers"

// grpcStatus are the numbers of the gRPC statuses that can be repeated.
var grpcStatus = map[string]uint32{
	"Canceled": 1, "DeadlineExceeded": 4, "ResourceExhausted": 8, "Internal": 13, "Unavailable": 14,
}

// methods may follow HttpMethod.
var methods = []string{"Connect", "Delete", "Get", "Head", "Options", "Patch", "Post", "Put", "Trace"}

// defaultHTTP and defaultGRPC are repeated where a policy names no word of its
// own (spec/kuma.md 3.1). The gRPC default has words that a document may not
// write in that block.
var (
	defaultHTTP = []string{"GatewayError", "ConnectFailure", "RefusedStream"}
	defaultGRPC = []string{"Canceled", "ConnectFailure", "GatewayError", "RefusedStream", "Reset", "ResourceExhausted", "Unavailable"}
)

// conditions is a retryOn list taken apart.
type conditions struct {
	words    []word // in the order of the list, the default's where it has none
	methods  []string
	statuses []uint32
	unknown  []int // indexes of what is none of these
}

// Most policies have no list of their own, and each question asks many.
var (
	usualHTTP = parse(nil, defaultHTTP)
	usualGRPC = parse(nil, defaultGRPC)
)

// conditionsOf are those of a retryOn list, else the usual ones. They are not to be changed.
func conditionsOf(on, otherwise []string, usual conditions) conditions {
	if len(on) == 0 {
		return usual
	}
	return parse(on, otherwise)
}

// parse takes a retryOn list apart.
func parse(on, otherwise []string) conditions {
	var c conditions
	for i, item := range on {
		if w, ok := find(item); ok {
			c.words = append(c.words, w)
		} else if m, ok := strings.CutPrefix(item, "HttpMethod"); ok && slices.Contains(methods, m) {
			c.methods = append(c.methods, strings.ToUpper(m))
		} else if n, err := strconv.Atoi(item); err == nil && http.StatusText(n) != "" && item == strconv.Itoa(n) {
			c.statuses = append(c.statuses, uint32(n))
		} else {
			c.unknown = append(c.unknown, i)
		}
	}
	if len(c.words) == 0 {
		for _, name := range otherwise {
			w, _ := find(name)
			c.words = append(c.words, w)
		}
	}
	return c
}

// has reports whether one of the words is among the conditions.
func (c conditions) has(names ...string) bool {
	return slices.ContainsFunc(c.words, func(w word) bool { return slices.Contains(names, w.name) })
}

func find(name string) (word, bool) {
	i := slices.IndexFunc(words, func(w word) bool { return w.name == name })
	if i < 0 {
		return word{}, false
	}
	return words[i], true
}

// allowed are the texts that a document may write, for messages.
func allowed(grpc bool) []string {
	var names []string
	for _, w := range words {
		if w.grpc == grpc {
			names = append(names, w.name)
		}
	}
	if !grpc {
		for _, m := range methods {
			names = append(names, "HttpMethod"+m)
		}
	}
	return names
}
