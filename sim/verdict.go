package sim

import (
	"cmp"
	"net/url"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/permission"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// Verdict is what would happen to one request (spec/contract.md 4).
type Verdict struct {
	From        string        `json:"from"`
	Request     wire.Request  `json:"request"`
	Destination *Destination  `json:"destination,omitempty"`
	Branches    []Branch      `json:"branches"`
	Missed      []lookup.Miss `json:"missed,omitempty"`
	// Unknown is what Envoy does with this request that the simulator does not know.
	Unknown []string   `json:"unknown,omitempty"`
	Notes   []api.Note `json:"notes,omitempty"`
}

// Host is the host that routes may be for: that of the destination, or which the request asks for
// where it leads nowhere; empty where it leads to a service.
func (v *Verdict) Host() string {
	switch {
	case v.Destination != nil && v.Destination.Kind == api.KindHost:
		return v.Destination.Name
	case v.Destination != nil:
		return ""
	}
	u, err := url.Parse(v.Request.URL)
	if err != nil {
		return ""
	}
	return wire.HostOf(cmp.Or(v.Request.Headers["host"], u.Host))
}

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
	Close       Outcome = "close"   // of a connection
	Refused     Outcome = "refused" // of a connection, by a sidecar that does not let the caller in
	Reset       Outcome = "reset"   // of a stream, by a sidecar that is called
)

// Branch is one alternative of a random decision; their probabilities add up to 1.
type Branch struct {
	Probability float64 `json:"probability"`
	// Draws are those of the request by which it comes to this; none where there is
	// one branch.
	Draws   []wire.Span `json:"draws,omitempty"`
	Outcome Outcome     `json:"outcome"`
	Status  uint32      `json:"status,omitempty"`
	// Reason is why the sidecar that is called answers, though nobody was asked who calls, or why the
	// proxy itself has nobody to send to.
	Reason     string  `json:"reason,omitempty"`
	GRPCStatus *uint32 `json:"grpcStatus,omitempty"`
	Location   string  `json:"location,omitempty"`
	Body       string  `json:"body,omitempty"` // of an answer of the proxy's own
	// Preflight says that the answer is that to a preflight of a browser.
	Preflight bool   `json:"preflight,omitempty"`
	Route     *Route `json:"route,omitempty"`
	// Authorization is what the authorization service is asked about the request.
	Authorization []*route.Authorization `json:"authorization,omitempty"`
	// ClientLimit is what it counts against, before anything else is asked.
	ClientLimit *ClientLimit `json:"clientLimit,omitempty"`
	// Delay is how long it waits then.
	Delay           api.Duration          `json:"delay,omitzero"`
	Backends        []Backend             `json:"backends,omitempty"`
	Forwarded       *wire.Forwarded       `json:"forwarded,omitempty"`
	ResponseHeaders *wire.ResponseHeaders `json:"responseHeaders,omitempty"`
	Mirrors         []Mirror              `json:"mirrors,omitempty"`
	Policies        map[string]Policy     `json:"policies,omitempty"`
	// Permission is what the called side decides about who calls, where callers prove who they
	// are. Dataplanes that decide differently are branches of their own.
	Permission *permission.Permission `json:"permission,omitempty"`
	// Attempts and Ends are what happens in time if the backends do what Answers
	// says; none where the called dataplanes differ, and then they have their own.
	Attempts []timeline.Attempt  `json:"attempts,omitempty"`
	Ends     []timeline.EndOfAll `json:"ends,omitempty"`

	unknown []string // for the verdict
}

// Route is the route that matched.
type Route struct {
	Key     string        `json:"key"`
	Name    string        `json:"name"`
	Matches []match.Match `json:"matches,omitempty"`
	Origins []*api.Origin `json:"origins,omitempty"`
	// ServerName is that of the chain which takes the connection, because its client asks
	// in TLS for the name, or for one below it where it begins with *.
	ServerName string `json:"serverName,omitempty"`
}

// Backend is one share of what is forwarded. Where it cannot be used, its share of
// requests is answered with Status, 500 unresolved, 503 no endpoints; of whole
// connections Outcome says that they are closed.
type Backend struct {
	Kind      string            `json:"kind"`
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	Port      uint32            `json:"port,omitempty"`
	Share     float64           `json:"share"`
	Status    uint32            `json:"status,omitempty"`
	Outcome   Outcome           `json:"outcome,omitempty"` // Close, or nothing to tell
	Reason    string            `json:"reason,omitempty"`  // of Status or Outcome
	// Balance is how its endpoints share the requests; empty for round robin.
	Balance string `json:"balance,omitempty"`
	// HTTP2 says that a rule wants it to be asked in HTTP/2, whatever its port says.
	HTTP2     bool            `json:"http2,omitempty"`
	Forwarded *wire.Forwarded `json:"forwarded,omitempty"`
	Inbounds  []Inbound       `json:"inbounds,omitempty"`
	// Policies are what is said about the connections to it, where backends of the route have
	// what the route does not say: each its own, be it nothing. Else they are nil.
	Policies map[string]Policy `json:"policies,omitzero"`
	// ResponseHeaders are what happens to its answers where that is not what
	// happens to all answers of the route.
	ResponseHeaders *wire.ResponseHeaders `json:"responseHeaders,omitempty"`

	http2 bool // by which it is called
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
	// Implied is what Envoy has beside what a field says, because of it, in Envoy's words.
	Implied map[string][]string `json:"implied,omitempty"`
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
	// Holds says that it lost, and that what won comes to it all the same.
	Holds bool `json:"holds,omitempty"`
}

// Joined reports whether nothing replaces it: the last, and of what adds up the others beside it.
func (s *Said) Joined() bool { return s.Lost == "" }
