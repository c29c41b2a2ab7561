package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Mirror is a copy of a share of the requests.
type Mirror struct {
	Backend
	Percent float64
	Host    string // that the copies are for, where it is not the request's
}

// Cluster is how one destination, or a subset of it, is spoken to.
type Cluster struct {
	Name        string // destination id, for a subset a hash of its tags, and what rules want otherwise than usual
	Destination *Destination
	Tags        map[string]string // subset; nil is all
	Balance     route.Balance     // of its endpoints
	HTTP2       bool              // prior-knowledge HTTP/2: every endpoint is an inbound of a Dataplane, or a rule says so
	Policies    Policies          // of the destination, for this class of dataplanes
	TLS         *ClusterTLS       // of those who have an identity; nil where nobody answers who has one
}

// Endpoints is who answers for one cluster.
type Endpoints struct {
	Name string // of the cluster
	List []Endpoint
	Left []LeftOut // who says that it answers, and is not asked
}

// LeftOut is a dataplane to which nobody is led that calls a destination which it says it answers for.
type LeftOut struct {
	Dataplane api.Ref
	Why       string
}

// Endpoint is one address.
type Endpoint struct {
	Dataplane api.Ref // whose inbound it is; zero outside the mesh
	Address   string
	Port      uint32
	Tags      map[string]string
	Zone      string
	Priority  uint32
	Plain     bool // called in plain text, in meshes with identities
}

// Inbound is one port of the workload.
type Inbound struct {
	Name           string // section name
	Address        string
	Port           uint32
	ServiceAddress string
	ServicePort    uint32
	Protocol       api.Protocol
	Tags           map[string]string
	Ready          bool
	// Guarded says that the mesh knows identities, so that a change of how it takes them may be
	// one of chains of filters alone.
	Guarded  bool
	TLS      *InboundTLS // nil: plain text alone
	Policies Policies
	// Callers are those of whom more holds than Policies, told apart by what their certificates
	// prove; the first that has a caller says all of it.
	Callers []CallerPolicies
	// Rules are of requests of which more holds than of all, in their order: where nobody
	// proves who calls there are none.
	Rules []InboundRule
	// Documented is the inbound as the documents have it, where it takes plain text alone for no
	// other reason than that nothing is known of its sidecar, as before it ran for the first time
	// and where documents are all there is; nil else. Nothing is sent by it.
	Documented *Inbound
}

// AsDocumented is the inbound by which to say who may call: as it is, or where nothing is known of
// its sidecar as the documents have it.
func (in *Inbound) AsDocumented() *Inbound {
	if in == nil || in.Documented == nil {
		return in
	}
	return in.Documented
}
