package healthcheck

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// Conf says how callers find out by themselves which endpoints of a service are well.
type Conf struct {
	// Interval is how often each caller checks each endpoint.
	Interval *api.Duration `json:"interval,omitempty" weft:"cluster,check" schema:"is=positive"`
	// Timeout is how long an answer may take. A caller waits as long, at most 15s, before it sends the first
	// requests to a service that it has not called before.
	Timeout *api.Duration `json:"timeout,omitempty" weft:"cluster,check" schema:"is=positive"`
	// UnhealthyThreshold is how many checks in a row have to fail until an endpoint gets nothing.
	UnhealthyThreshold *int32 `json:"unhealthyThreshold,omitempty" weft:"cluster,check" schema:"min=1"`
	// HealthyThreshold is how many checks in a row have to pass until it gets requests again. The first one
	// that passes is enough for an endpoint that is new.
	HealthyThreshold *int32 `json:"healthyThreshold,omitempty" weft:"cluster,check" schema:"min=1"`
	// InitialJitter is how long the first check waits at most; how long is drawn.
	InitialJitter *api.Duration `json:"initialJitter,omitempty" weft:"cluster,check" schema:"is=positive"`
	// IntervalJitter is by how much an interval is longer at most; by how much is drawn each time.
	IntervalJitter *api.Duration `json:"intervalJitter,omitempty" weft:"cluster,check" schema:"is=positive"`
	// IntervalJitterPercent is the same as a share of the interval.
	IntervalJitterPercent *int32 `json:"intervalJitterPercent,omitempty" weft:"cluster,check" schema:"min=0,max=100"`
	// NoTrafficInterval is the interval until the first request is sent. Envoy's is 60s.
	NoTrafficInterval *api.Duration `json:"noTrafficInterval,omitempty" weft:"cluster,check" schema:"is=positive"`
	// ReuseConnection lets checks use one connection; true where it is left out.
	ReuseConnection *bool `json:"reuseConnection,omitempty" weft:"cluster,check"`
	// EventLogPath is where changes of health are written: /dev/stdout or /dev/stderr of the sidecar.
	EventLogPath *string `json:"eventLogPath,omitempty" weft:"cluster,check" schema:"enum=/dev/stdout|/dev/stderr"`
	// AlwaysLogHealthCheckFailures writes each check that fails there, not the changes alone.
	AlwaysLogHealthCheckFailures *bool `json:"alwaysLogHealthCheckFailures,omitempty" weft:"cluster,check"`
	// FailTrafficOnPanic answers requests with 503 where too few endpoints are well, in place of using all.
	FailTrafficOnPanic *bool `json:"failTrafficOnPanic,omitempty" weft:"cluster,panic"`
	// HealthyPanicThreshold is an older form of outlierDetection.healthyPanicThreshold of MeshCircuitBreaker,
	// which holds where both are set.
	HealthyPanicThreshold *policies.Percentage `json:"healthyPanicThreshold,omitempty" weft:"cluster,panic"`
	// HTTP checks services that speak HTTP/1 or HTTP/2.
	HTTP *HTTP `json:"http,omitempty"`
	// TCP checks services that speak plain TCP, and those whose own block is disabled.
	TCP *TCP `json:"tcp,omitempty"`
	// GRPC checks services that speak gRPC, by the health service of gRPC.
	GRPC *GRPC `json:"grpc,omitempty"`
}

// HTTP checks by a request. An empty block switches it on.
type HTTP struct {
	// Disabled switches it off. TCP is checked in its place where that is on.
	Disabled *bool `json:"disabled,omitempty" weft:"cluster,http"`
	// Path is what is asked for by GET.
	Path *string `json:"path,omitempty" weft:"cluster,http"`
	// RequestHeadersToAdd are headers of the request.
	RequestHeadersToAdd *Headers `json:"requestHeadersToAdd,omitempty" schema:"least=1"`
	// ExpectedStatuses are those of endpoints that are well.
	ExpectedStatuses []uint32 `json:"expectedStatuses,omitzero" weft:"cluster,http" schema:"least=1"`
}

// Headers of a request.
type Headers struct {
	// Set replaces a header of the request.
	Set []route.Header `json:"set,omitzero" weft:"cluster,http" schema:"most=16"`
	// Add appends to one.
	Add []route.Header `json:"add,omitzero" weft:"cluster,http" schema:"most=16"`
}

// TCP checks by a connection. An empty block switches it on.
type TCP struct {
	// Disabled switches it off.
	Disabled *bool `json:"disabled,omitempty" weft:"cluster,tcp"`
	// Send is what is sent, as it is written here; nothing where it is left out.
	Send *string `json:"send,omitempty" weft:"cluster,tcp"`
	// Receive are texts that have to come back in this order.
	Receive []string `json:"receive,omitzero" weft:"cluster,tcp"`
}

// GRPC checks by the health service of gRPC. An empty block switches it on.
type GRPC struct {
	// Disabled switches it off. TCP is checked in its place where that is on.
	Disabled *bool `json:"disabled,omitempty" weft:"cluster,grpc"`
	// ServiceName is the service whose health is asked for.
	ServiceName *string `json:"serviceName,omitempty" weft:"cluster,grpc"`
	// Authority is the header :authority of the request.
	Authority *string `json:"authority,omitempty" weft:"cluster,grpc"`
}

// DecodeRaw reads the block. An empty one says that it is not disabled.
func (h *HTTP) DecodeRaw(raw decode.Raw) {
	if raw.Decode(h) && h.Disabled == nil && h.Path == nil && h.RequestHeadersToAdd == nil && h.ExpectedStatuses == nil {
		h.Disabled = new(false)
	}
}

// DecodeRaw reads the block. An empty one says that it is not disabled.
func (t *TCP) DecodeRaw(raw decode.Raw) {
	if raw.Decode(t) && t.Disabled == nil && t.Send == nil && t.Receive == nil {
		t.Disabled = new(false)
	}
}

// DecodeRaw reads the block. An empty one says that it is not disabled.
func (g *GRPC) DecodeRaw(raw decode.Raw) {
	if raw.Decode(g) && *g == (GRPC{}) {
		g.Disabled = new(false)
	}
}

// way is how endpoints are checked.
type way string

// The ways, which are the names of their blocks.
const (
	unchecked way = ""
	byHTTP    way = "http"
	byTCP     way = "tcp"
	byGRPC    way = "grpc"
)

// way is how what speaks p is checked, and if it is not, why. Requests fall back to TCP only where their own
// block says that it is disabled.
func (c *Conf) way(p api.Protocol) (w way, why string) {
	own := ownOf(p)
	here, off := c.TCP != nil, c.TCP != nil && isTrue(c.TCP.Disabled)
	switch own {
	case byHTTP:
		here, off = c.HTTP != nil, c.HTTP != nil && isTrue(c.HTTP.Disabled)
	case byGRPC:
		here, off = c.GRPC != nil, c.GRPC != nil && isTrue(c.GRPC.Disabled)
	}
	switch {
	case here && !off:
		return own, ""
	case !here:
		return unchecked, "what it reaches speaks " + string(p) + ", and no block " + string(own) + " says how that is checked"
	case own != byTCP && c.TCP != nil && !isTrue(c.TCP.Disabled):
		return byTCP, ""
	}
	return unchecked, "what it reaches speaks " + string(p) + ", and its block " + string(own) + " is disabled"
}

func isTrue(b *bool) bool { return b != nil && *b }
