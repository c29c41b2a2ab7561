package timeout

import "github.com/weftmesh/weft/api"

// Conf bounds connections and requests in time. 0s switches a bound off.
type Conf struct {
	// ConnectionTimeout bounds the opening of a connection. It must be longer than 0s.
	ConnectionTimeout *api.Duration `json:"connectionTimeout,omitempty" weft:"cluster" schema:"is=positive"`
	// IdleTimeout closes a connection on which nothing happens.
	IdleTimeout *api.Duration `json:"idleTimeout,omitempty" weft:"cluster" schema:"is=bound"`
	// HTTP has the bounds of requests and of the connections that carry them.
	HTTP *HTTP `json:"http,omitempty"`
}

// HTTP has the bounds of requests and of the connections that carry them.
type HTTP struct {
	// RequestTimeout bounds a request until its answer is complete, all retries
	// included.
	RequestTimeout *api.Duration `json:"requestTimeout,omitempty" weft:"route" schema:"is=bound"`
	// StreamIdleTimeout ends a request on which nothing happens.
	StreamIdleTimeout *api.Duration `json:"streamIdleTimeout,omitempty" weft:"route" schema:"is=bound"`
	// MaxStreamDuration bounds one attempt of a request, however busy it is.
	MaxStreamDuration *api.Duration `json:"maxStreamDuration,omitempty" weft:"cluster" schema:"is=bound"`
	// MaxConnectionDuration drains a connection of that age.
	MaxConnectionDuration *api.Duration `json:"maxConnectionDuration,omitempty" weft:"cluster" schema:"is=bound"`
	// RequestHeadersTimeout bounds the arrival of a request's headers.
	RequestHeadersTimeout *api.Duration `json:"requestHeadersTimeout,omitempty" weft:"listener" schema:"is=bound"`
}
