package ratelimit

import (
	"encoding/json"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Conf limits how often a service is called.
type Conf struct {
	// Local limits are counted by each proxy for itself.
	Local *Local `json:"local,omitempty" schema:"required,least=1"`
}

// Local has the limits that each proxy counts by itself.
type Local struct {
	// HTTP limits requests.
	HTTP *HTTP `json:"http,omitempty" schema:"least=1"`
	// TCP limits new connections.
	TCP *TCP `json:"tcp,omitempty" schema:"least=1"`
}

// HTTP limits requests.
type HTTP struct {
	// Disabled switches off the limit that weaker policies set.
	Disabled *bool `json:"disabled,omitempty" weft:"route,http"`
	// RequestRate is how many requests are admitted in what time. All routes of a
	// destination that one item limits share a bucket, as long as their answers are
	// the same. A change of the destination's routes fills the buckets anew.
	RequestRate *Rate `json:"requestRate,omitempty" weft:"route,http"`
	// OnRateLimit is the answer to a request over the limit.
	OnRateLimit *OnRateLimit `json:"onRateLimit,omitempty" schema:"least=1"`
}

// TCP limits new connections. A connection over the limit is closed.
type TCP struct {
	// Disabled switches off the limit that weaker policies set.
	Disabled *bool `json:"disabled,omitempty" weft:"listener,tcp"`
	// ConnectionRate is how many connections are admitted in what time.
	ConnectionRate *Rate `json:"connectionRate,omitempty" weft:"listener,tcp"`
}

// Rate is a bucket of tokens. It is replaced as a whole when policies merge.
type Rate struct {
	// Num is how many tokens the bucket holds; it is full at first. At least 1.
	Num *uint32 `json:"num" schema:"required,min=1"`
	// Interval is how long it takes until the bucket is full again. More than 50ms.
	Interval *api.Duration `json:"interval" schema:"required,is=50ms"`
	// Burst is how many tokens more the bucket holds. No document of the policy has
	// it: it comes from route languages that do.
	Burst *uint32 `json:"-"`
}

// MarshalJSON shows a burst too, where there is one.
func (r Rate) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Num      *uint32       `json:"num"`
		Interval *api.Duration `json:"interval"`
		Burst    *uint32       `json:"burst,omitempty"`
	}{r.Num, r.Interval, r.Burst})
}

// OnRateLimit is the answer to a request over the limit.
type OnRateLimit struct {
	// Status of the answer: one of those that Envoy can send.
	Status *uint32 `json:"status,omitempty" weft:"route,http" schema:"min=100,max=599"`
	// Headers of the answer.
	Headers *Headers `json:"headers,omitempty" schema:"least=1"`
}

// Headers of the answer to a request over the limit.
type Headers struct {
	// Set replaces a header of the answer. At most 10 with those of add.
	Set []route.Header `json:"set,omitzero" weft:"route,http"`
	// Add appends to a header of the answer. At most 10 with those of set.
	Add []route.Header `json:"add,omitzero" weft:"route,http"`
}
