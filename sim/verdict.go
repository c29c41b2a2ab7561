package sim

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Verdict is what would happen to one request (contract 4).
type Verdict struct {
	From        string       `json:"from"`
	Request     Request      `json:"request"`
	Destination *Destination `json:"destination,omitempty"`
	Branches    []Branch     `json:"branches"`
	Missed      []Miss       `json:"missed,omitempty"`
	Notes       []api.Note   `json:"notes,omitempty"`
}

// Request is what the workload asks for.
type Request struct {
	Method  string  `json:"method"`
	URL     string  `json:"url"`
	Headers Headers `json:"headers,omitempty"`
}

// Headers are by lower-case name. The values of a repeated header are kept apart;
// as JSON they are joined by a comma.
type Headers map[string]string

// Destination is what the URL's host and port lead to.
type Destination struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Port      uint32 `json:"port,omitempty"`
}

// Outcome is what the proxy does.
type Outcome string

// The outcomes.
const (
	Forward     Outcome = "forward"
	Redirect    Outcome = "redirect"
	Respond     Outcome = "respond"
	Passthrough Outcome = "passthrough"
)

// Branch is one alternative of a random decision; their probabilities add up to 1.
type Branch struct {
	Probability     float64           `json:"probability"`
	Outcome         Outcome           `json:"outcome"`
	Status          uint32            `json:"status,omitempty"`
	GRPCStatus      *uint32           `json:"grpcStatus,omitempty"`
	Location        string            `json:"location,omitempty"`
	Route           *Route            `json:"route,omitempty"`
	Backends        []Backend         `json:"backends,omitempty"`
	Forwarded       *Forwarded        `json:"forwarded,omitempty"`
	ResponseHeaders *ResponseHeaders  `json:"responseHeaders,omitempty"`
	Mirrors         []Mirror          `json:"mirrors,omitempty"`
	Policies        map[string]Policy `json:"policies,omitempty"`
}

// Route is the route that matched.
type Route struct {
	Key     string        `json:"key"`
	Name    string        `json:"name"`
	Matches []route.Match `json:"matches,omitempty"`
	Origins []*api.Origin `json:"origins,omitempty"`
}

// Backend is one share of what is forwarded. Status is set where it cannot be
// used: 500 unresolved, 503 no endpoints.
type Backend struct {
	Kind      string            `json:"kind"`
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	Port      uint32            `json:"port,omitempty"`
	Share     float64           `json:"share"`
	Status    uint32            `json:"status,omitempty"`
	Reason    string            `json:"reason,omitempty"` // of Status
	Forwarded *Forwarded        `json:"forwarded,omitempty"`
}

// Forwarded is the request as a backend sees it, without Envoy's own additions.
type Forwarded struct {
	Method         string   `json:"method"`
	Authority      string   `json:"authority"`
	Path           string   `json:"path"` // with the query
	Headers        Headers  `json:"headers,omitempty"`
	RemovedHeaders []string `json:"removedHeaders,omitempty"`
}

// ResponseHeaders is what happens to the answer's headers on the way back.
type ResponseHeaders struct {
	Set    Headers  `json:"set,omitempty"`
	Add    Headers  `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
}

// Mirror is a copy of a share of the requests.
type Mirror struct {
	Kind      string            `json:"kind,omitempty"`
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	Port      uint32            `json:"port,omitempty"`
	Share     float64           `json:"share"` // of the requests that take the route
}

// Policy is what one kind does to the request, and who set each field.
type Policy struct {
	Conf any               `json:"conf"`
	Why  map[string][]Said `json:"why"`
	// Idle are the fields without effect there: on the protocol that is spoken, or
	// for IdleReason.
	Idle       []string `json:"idle,omitempty"`
	IdleReason string   `json:"idleReason,omitempty"`
	// Buckets is how many buckets a limit has at the destination, where it is more
	// than one: each admits the whole rate.
	Buckets int `json:"buckets,omitempty"`
}

// Said is one opinion about a field, weakest first in a list; the last holds.
type Said struct {
	Value  any         `json:"value"`
	Origin *api.Origin `json:"origin"`
	Layer  string      `json:"layer,omitempty"`
	// Override says that it was given under override: over what is nearer to the route.
	Override bool `json:"override,omitempty"`
	// Lost is the key of the order that decided against it; empty where it holds.
	Lost string `json:"lost,omitempty"`
}

// Miss is a route that the request did not match, and why.
type Miss struct {
	Key     string        `json:"key,omitempty"`
	Origins []*api.Origin `json:"origins"`
	Reason  string        `json:"reason"`
}
