package retry

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// Conf says how requests and connections are repeated, by protocol.
type Conf struct {
	// TCP is for connections of services that speak plain TCP.
	TCP *TCP `json:"tcp,omitempty" schema:"least=1"`
	// HTTP is for requests of services that speak HTTP/1 or HTTP/2.
	HTTP *HTTP `json:"http,omitempty" schema:"least=1"`
	// GRPC is for calls of services that speak gRPC.
	GRPC *GRPC `json:"grpc,omitempty" schema:"least=1"`
}

// TCP says how connections are repeated.
type TCP struct {
	// MaxConnectAttempt is how often a connection is tried before it fails, the
	// first attempt included. From 1 to 100: there is no pause between them.
	MaxConnectAttempt *uint32 `json:"maxConnectAttempt,omitempty" weft:"listener,tcp" schema:"required,min=1,max=100"`
}

// HTTP says when and how often an HTTP request is sent again.
type HTTP struct {
	// NumRetries is how often a request is repeated at most, beside the first
	// attempt. 0 switches retries off. At most 1000.
	NumRetries *uint32 `json:"numRetries,omitempty" weft:"route,http" schema:"max=1000"`
	// PerTryTimeout bounds each attempt, the first one too. 0s leaves only the
	// request timeout.
	PerTryTimeout *api.Duration `json:"perTryTimeout,omitempty" weft:"route,http" schema:"is=bound"`
	// BackOff is the pause between two attempts.
	BackOff *BackOff `json:"backOff,omitempty" schema:"least=1"`
	// RateLimitedBackOff is the pause that an answer asks for in its headers.
	RateLimitedBackOff *RateLimitedBackOff `json:"rateLimitedBackOff,omitempty"`
	// RetryOn is what is repeated: words (5xx, GatewayError, Reset,
	// ResetBeforeRequest, Retriable4xx, ConnectFailure, EnvoyRatelimited,
	// RefusedStream, Http3PostConnectFailure), status numbers ("503"), and
	// HttpMethodGet and its like, which limit retries to requests of those methods.
	// ConnectFailure is a connection that cannot be opened, to the called sidecar or
	// from it to its workload.
	// Without any word the default's words hold beside the numbers and methods;
	// RetriableStatusCodes, or RetriableHeaders beside retriableResponseHeaders,
	// keeps them out.
	RetryOn []string `json:"retryOn,omitzero" weft:"route,http"`
	// RetriableResponseHeaders also repeats a request whose answer has one of
	// these headers, each {type, name, value} as in the matches of a route.
	RetriableResponseHeaders []policies.HeaderMatch `json:"retriableResponseHeaders,omitzero" weft:"route,http"`
	// RetriableRequestHeaders limits retries to requests that have one of these
	// headers, each {type, name, value} as in the matches of a route, or one of
	// the methods in retryOn.
	RetriableRequestHeaders []policies.HeaderMatch `json:"retriableRequestHeaders,omitzero" weft:"route,http"`
	// HostSelection says which endpoints an attempt avoids.
	HostSelection []HostSelection `json:"hostSelection,omitzero" weft:"route,http"`
	// HostSelectionMaxAttempts is how often an endpoint is drawn again because
	// hostSelection refuses it; then the last one drawn is taken. Envoy draws once
	// where this is not set. From 1 to 100.
	HostSelectionMaxAttempts *int64 `json:"hostSelectionMaxAttempts,omitempty" weft:"route,http" schema:"min=1,max=100"`
}

// GRPC says when and how often a gRPC call is sent again.
type GRPC struct {
	// NumRetries is how often a call is repeated at most, beside the first
	// attempt. 0 switches retries off. At most 1000.
	NumRetries *uint32 `json:"numRetries,omitempty" weft:"route,grpc" schema:"max=1000"`
	// PerTryTimeout bounds each attempt, the first one too. 0s leaves only the
	// request timeout.
	PerTryTimeout *api.Duration `json:"perTryTimeout,omitempty" weft:"route,grpc" schema:"is=bound"`
	// BackOff is the pause between two attempts.
	BackOff *GRPCBackOff `json:"backOff,omitempty" schema:"least=1"`
	// RateLimitedBackOff is the pause that an answer asks for in its headers.
	RateLimitedBackOff *GRPCRateLimitedBackOff `json:"rateLimitedBackOff,omitempty"`
	// RetryOn is which gRPC statuses are repeated: Canceled, DeadlineExceeded,
	// Internal, ResourceExhausted, Unavailable. Envoy sees only a status that
	// comes without a message, that is, in the headers. The default also repeats
	// what failed before it became a gRPC answer.
	RetryOn []string `json:"retryOn,omitzero" weft:"route,grpc"`
}

// BackOff is the pause between two attempts: random, growing with each attempt.
type BackOff struct {
	// BaseInterval is the length from which the pauses grow; the first is drawn
	// from 0 to this.
	BaseInterval *api.Duration `json:"baseInterval,omitempty" weft:"route,http" schema:"is=positive"`
	// MaxInterval is the longest pause; 10 times baseInterval where it is not set.
	MaxInterval *api.Duration `json:"maxInterval,omitempty" weft:"route,http" schema:"is=positive"`
}

// GRPCBackOff is BackOff for gRPC.
type GRPCBackOff struct {
	// BaseInterval is the length from which the pauses grow; the first is drawn
	// from 0 to this.
	BaseInterval *api.Duration `json:"baseInterval,omitempty" weft:"route,grpc" schema:"is=positive"`
	// MaxInterval is the longest pause; 10 times baseInterval where it is not set.
	MaxInterval *api.Duration `json:"maxInterval,omitempty" weft:"route,grpc" schema:"is=positive"`
}

// RateLimitedBackOff is the pause that an answer asks for.
type RateLimitedBackOff struct {
	// ResetHeaders are the response headers that say when to come again; the
	// first one that is there counts.
	ResetHeaders []ResetHeader `json:"resetHeaders,omitzero" weft:"route,http" schema:"required,least=1"`
	// MaxInterval is the longest pause that is respected; an answer that asks for
	// more gets the ordinary back-off. 5m where it is not set.
	MaxInterval *api.Duration `json:"maxInterval,omitempty" weft:"route,http" schema:"is=positive"`
}

// GRPCRateLimitedBackOff is RateLimitedBackOff for gRPC.
type GRPCRateLimitedBackOff struct {
	// ResetHeaders are the response headers that say when to come again; the
	// first one that is there counts.
	ResetHeaders []ResetHeader `json:"resetHeaders,omitzero" weft:"route,grpc" schema:"required,least=1"`
	// MaxInterval is the longest pause that is respected; an answer that asks for
	// more gets the ordinary back-off. 5m where it is not set.
	MaxInterval *api.Duration `json:"maxInterval,omitempty" weft:"route,grpc" schema:"is=positive"`
}

// ResetHeader is a response header that says when to come again.
type ResetHeader struct {
	// Name of the header.
	Name string `json:"name" schema:"required,is=headerName"`
	// Format of its value: Seconds from now, or UnixTimestamp.
	Format string `json:"format" schema:"required,enum=Seconds|UnixTimestamp"`
}

// HostSelection says which endpoints an attempt avoids.
type HostSelection struct {
	// Predicate is OmitPreviousHosts, OmitHostsWithTags or OmitPreviousPriorities.
	Predicate string `json:"predicate" schema:"required,enum=OmitPreviousHosts|OmitHostsWithTags|OmitPreviousPriorities"`
	// Tags of the endpoints that OmitHostsWithTags avoids.
	Tags map[string]string `json:"tags,omitempty"`
	// UpdateFrequency is after how many attempts OmitPreviousPriorities looks at
	// the priorities again; 2 where it is not set.
	UpdateFrequency *int32 `json:"updateFrequency,omitempty" schema:"min=1"`
}
