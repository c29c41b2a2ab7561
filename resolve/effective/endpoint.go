package effective

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
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
	Labels    map[string]string // of the dataplane
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
	// CallerMatch are those of whom more holds than Policies, told apart by what their certificates
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

// The buckets of Inbound.Is.
const (
	OpenInbounds  = "open"  // nobody proves who calls, though the mesh does
	PlainInbounds = "plain" // Permissive: plaintext is let in beside mutual TLS
	BytesInbounds = "bytes" // nobody reads requests
)

// Is reports whether the inbound is among those of a bucket.
func (in *Inbound) Is(bucket string) bool {
	switch bucket {
	case OpenInbounds:
		return in.Guarded && in.TLS == nil
	case PlainInbounds:
		return in.TLS != nil && in.TLS.Mode == Permissive
	}
	return in.TLS != nil && !in.Protocol.HTTPLike()
}

// PoliciesOf is what holds of the requests of a caller with these names; of one that has
// proved none, what holds of everybody.
func (in *Inbound) PoliciesOf(names []string) Policies {
	for _, c := range in.Callers {
		if c.Have(names) {
			return c.Policies
		}
	}
	return in.Policies
}

// Equal reports whether both speak to the same in the same way.
func (c *Cluster) Equal(o *Cluster) bool {
	return c.Name == o.Name && c.Destination == o.Destination && c.HTTP2 == o.HTTP2 && c.Balance == o.Balance && derive.Same(c.Tags, o.Tags) && derive.Same(c.TLS, o.TLS) && derive.Same(c.Policies, o.Policies)
}

// Equal reports whether the same holds at both.
func (in *Inbound) Equal(o *Inbound) bool {
	return in.Name == o.Name && in.Address == o.Address && in.Port == o.Port && in.ServiceAddress == o.ServiceAddress &&
		in.ServicePort == o.ServicePort && in.Protocol == o.Protocol && in.Ready == o.Ready && in.Guarded == o.Guarded && derive.Same(in.TLS, o.TLS) && derive.Same(in.Tags, o.Tags) && derive.Same(in.Policies, o.Policies) && derive.Same(in.Callers, o.Callers) && derive.Same(in.Rules, o.Rules) &&
		(in.Documented == nil) == (o.Documented == nil) && (in.Documented == nil || in.Documented.Equal(o.Documented))
}

// RuleOf is what holds of a request as it arrives; nil where nothing does but what holds of
// all.
func (in *Inbound) RuleOf(r *match.Request) *InboundRule {
	for i := range in.Rules {
		if in.Rules[i].Match.Holds(r) {
			return &in.Rules[i]
		}
	}
	return nil
}

// TellsPathsApart reports whether paths decide which rule holds.
func (in *Inbound) TellsPathsApart() bool {
	return slices.ContainsFunc(in.Rules, func(r InboundRule) bool {
		return slices.ContainsFunc(r.Match.Conditions, func(c match.Condition) bool { return c.On == match.OnPath && !match.Conditions{c}.Everything() })
	})
}
