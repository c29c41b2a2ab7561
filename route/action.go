package route

// Action is what happens to a request: *Forward, Passthrough, *Redirect or *Respond.
type Action interface{ action() }

// DirectResponse is an action of the proxy's own, which asks no backend: *Redirect or *Respond.
type DirectResponse interface {
	Action
	answer()
}

// Forward sends to backends, by their weights.
type Forward struct {
	Backends []BackendRef
	// Hash is by what RingHash tells requests apart, for those backends that have it.
	Hash []HashKey
	// NoBackend is the answer where no backend can be used, or none has a weight.
	NoBackend Respond
	// NoPolicies says that policies do not apply to NoBackend: it stands in no document
	// (spec/httpproxy.md 9).
	NoPolicies bool `json:",omitempty"`
}

// Passthrough sends to the destination that the client asked for.
type Passthrough struct{}

// Redirect answers with a location. Empty fields keep what the request has.
type Redirect struct {
	Scheme, Hostname string
	Port             uint32
	Path             *PathRewrite
	Status           uint32 // 301, 302, 303, 307, 308
}

// Respond answers with a status. To a gRPC client it goes as the status of gRPC
// that Envoy makes of it: of 404 it makes 12, of 503 it makes 14.
type Respond struct {
	Status  uint32
	Body    string
	Headers []Header // set, over what Envoy itself says
}

func (*Forward) action()    {}
func (Passthrough) action() {}
func (*Redirect) action()   {}
func (*Respond) action()    {}

func (*Redirect) answer() {}
func (*Respond) answer()  {}
