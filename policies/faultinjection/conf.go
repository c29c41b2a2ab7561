package faultinjection

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/policies"
)

// Conf says which faults requests meet on purpose.
type Conf struct {
	// HTTP are the faults, which act one after the other, each by a draw of its own. A list stands in the place
	// of one from a weaker policy as a whole; an empty one injects none. Those of to are injected by the proxies that
	// call, which neither repeat nor count an abort, and bound no delay: they try what the application does. Those of
	// from and rules are injected by the proxies that are called, and to callers they are answers of the service: they
	// try retries, timeouts and outlier detection.
	HTTP []Fault `json:"http,omitzero" weft:"route" schema:"most=16"`
}

// Fault is what happens to a share of the requests. Its parts are drawn independently of each other: a request may
// wait and fail.
type Fault struct {
	// Abort answers a request in the place of the service.
	Abort *Abort `json:"abort,omitempty"`
	// Delay lets a request wait before it goes on, or is aborted.
	Delay *Delay `json:"delay,omitempty"`
	// ResponseBandwidth slows an answer down.
	ResponseBandwidth *ResponseBandwidth `json:"responseBandwidth,omitempty"`
}

// Abort answers a request in the place of the service.
type Abort struct {
	// HTTPStatus is that of the answer, 200 to 599. A gRPC client gets the status of gRPC that stands for it, as 14
	// (Unavailable) for 503.
	HTTPStatus *uint32 `json:"httpStatus" schema:"required,min=200,max=599"`
	// Percentage is how many requests are aborted, 0 to 100; 0 aborts none.
	Percentage *policies.Percentage `json:"percentage" schema:"required"`
}

// Delay lets a request wait.
type Delay struct {
	// Value is how long it waits: 1ms to 1h.
	Value *api.Duration `json:"value" schema:"required,is=positive"`
	// Percentage is how many requests wait, 0 to 100; 0 delays none.
	Percentage *policies.Percentage `json:"percentage" schema:"required"`
}

// ResponseBandwidth slows an answer down.
type ResponseBandwidth struct {
	// Limit is how fast the body of the answer goes on, in bits: 50Mbps, or kbps or Gbps. Envoy counts KiB a second,
	// and no fewer than one.
	Limit *Bandwidth `json:"limit" schema:"required"`
	// Percentage is how many answers are slowed down, 0 to 100; 0 slows none.
	Percentage *policies.Percentage `json:"percentage" schema:"required"`
}

// Bandwidth is a rate in bits a second: a number and a unit.
type Bandwidth string

// bandwidthPattern is what a bandwidth looks like.
const bandwidthPattern = `^[0-9]{1,9} ?(kbps|Mbps|Gbps)$`

// JSONSchema is a text of that form.
func (Bandwidth) JSONSchema() jsonschema.Schema {
	return jsonschema.Schema{"type": "string", "pattern": bandwidthPattern}
}
