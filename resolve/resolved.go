package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// Resolved is everything that applies to one dataplane. It holds pointers to
// values that it shares with every dataplane to which the same applies; all of
// them are immutable, and equal content keeps its pointer from one Model to the
// next, so that a reader sees what changed by comparing pointers.
type Resolved struct {
	Ref       api.Ref
	Dataplane *api.Object  // its Spec is *api.Dataplane
	Outbounds []*Outbound  // by address and port
	Inbounds  []InboundUse // by port
	Edges     []EdgeUse    // by port; of an edge dataplane only
	Secrets   []SecretUse  // by name; those that Edges show
	Identity  *Identity    // nil for none
	// TLS says that its sidecar has proved who it is, so that it calls by TLS those who take it.
	TLS bool
	// Unseen says that nothing is known of its sidecar, as before it ran for the first time and
	// where documents are all there is: whom it would call by TLS, the documents say.
	Unseen bool
	// OverADS says that the control plane sends it its certificate.
	OverADS bool
	// Closed says who has redirected ports closed that no inbound names; nil where they are open.
	Closed *api.Origin
	Trust  []TrustUse // by name
	// Clusters are those that the tables of Outbounds name, sorted by name.
	Clusters []ClusterUse
	// Failed is the bug because of which not all that applies is known; empty for
	// none. What is not here is then not known to be gone.
	Failed string
	// Noted is for what a proxy does not get of it as it is written.
	Noted *Memo
}

// Proves are the names that its sidecar proves to those whom it calls by TLS: of one of which nothing
// is known those of the documents. There are none where it has no identity, or calls in plain text.
func (r *Resolved) Proves() []string {
	if r.Identity == nil || !r.TLS && !r.Unseen {
		return nil
	}
	return r.Identity.Names
}

// ClusterUse is a cluster as one dataplane uses it, with what answers behind it.
type ClusterUse struct {
	*Cluster
	*Endpoints
	// ConnectionsOnly says that no table of the dataplane sends requests to it, only
	// TCPTables whole connections.
	ConnectionsOnly bool
	// ClusterKept and EndpointsKept are what stands beside either.
	ClusterKept, EndpointsKept *Memo
}

// InboundUse is an inbound, and what stands beside it.
type InboundUse struct {
	*Inbound
	Kept *Memo
}

// Outbound is one listener: an address that the workload calls.
type Outbound struct {
	Address     string
	Port        uint32
	Destination *Destination
	// Table has the routes where requests are told apart. Else it is nil and TCP
	// holds: the destination does not speak HTTP, or the strongest route object is
	// about whole connections.
	Table *Table
	TCP   *TCPTable
	// Policies are those of the destination as a whole: what a listener takes.
	Policies Policies
	// Kept is what stands beside all of them, Listener what stands beside the outbound.
	Kept     *Kept
	Listener *Memo
	// Passthrough says that the outbound is to a host behind redirection: what comes to its
	// address and is for none of the hosts there goes on to where it was going.
	Passthrough bool
	// Named says that a service has the name of the host behind redirection, whether the
	// dataplane reaches the service or not: the name does not lead to the host.
	Named bool
	// Edge says that nobody calls it from the dataplane, but clients from outside at
	// the listener of an Edge.
	Edge bool
}

// Protocol is what the listener reads: that of the destination, or plain TCP where
// nobody looks for requests.
func (o *Outbound) Protocol() api.Protocol {
	if o.Table == nil {
		return api.TCP
	}
	return o.Destination.Protocol
}

// ToHost reports whether the outbound is one of several at its address, told apart
// by the host that a request asks for.
func (o *Outbound) ToHost() bool { return o.Destination.Kind == api.KindHost }

// Policies has one entry for each kind that says something, in the order of the
// kinds that the Model was compiled with.
type Policies []*policies.Effective

// Of finds a kind by name; nil if it says nothing.
func (p Policies) Of(kind string) *policies.Effective {
	for _, e := range p {
		if e.Kind.Name == kind {
			return e
		}
	}
	return nil
}

// Destination is something that can be called: one port of a service.
type Destination struct {
	ID        string // spec/xds.md 2: <name>[.<namespace>]:<port>, classic <name>
	Kind      string // MeshService, MeshExternalService, MeshMultiZoneService; of no object api.KindHost or api.KindAddress
	Name      string
	Namespace string
	Port      uint32 // 0 for a classic kuma.io/service
	PortName  string
	Protocol  api.Protocol
	Guessed   bool // nobody wrote the protocol down: a dialect of routes may know better
	// Listed marks a kuma.io/service for which nobody answers, and which is a destination because
	// a Dataplane lists it among its outbounds: its routes hold, and no ref finds it.
	Listed bool
	// Outside marks a Service that is not in the mesh: it is called as it is, but by
	// those to whom a route says something about it.
	Outside bool
	// Above is the headless Service of which it is one pod, nil for all others: what is said
	// about that is said about its pods.
	Above     *matcher.Service
	Labels    api.Labels
	Hostnames []string // all names by which a URL may call it
	VIPs      []string
	Ref       api.Ref // of the object behind it; zero for a classic service
	// External is set for a MeshExternalService, and for addresses as the one that they
	// would be.
	External *api.MeshExternalService
	// TLS is set for a host that only clients who speak TLS get, at edge dataplanes. It has
	// Secrets where the host brings a certificate of its own.
	TLS *route.ServerTLS
}

// RequestProtocol is the protocol that policies assume for requests to it: HTTP where its
// port declares none and rules send requests there.
func (d *Destination) RequestProtocol() api.Protocol {
	if d.Guessed {
		return api.HTTP
	}
	return d.Protocol
}

// Table is the ordered routes to one destination: an Envoy route configuration.
type Table struct {
	Destination *Destination
	Routes      []*Route // most specific first; the last matches everything
}

// Route is one Envoy route, before Envoy's own doubling of prefixes: one match
// and what happens to the requests that it matches.
type Route struct {
	Key     string // match key of the rule
	Name    string // Envoy route name
	Match   route.Match
	Matches []route.Match // the whole rule, of which Match is one alternative
	// Origins are the rules that contributed, weakest first; empty for the
	// implicit catch-all.
	Origins []*api.Origin
	// Over are rules that gave way as a whole, Via the objects that include the
	// rule, outermost first.
	Over, Via []*api.Origin
	Filters   []route.Filter
	// FiltersBy and ActionBy are the rules whose word holds, nil where nobody's does. Lost are
	// the lists of others among Origins that gave way to them.
	FiltersBy, ActionBy *api.Origin
	Lost                []route.LostList
	// Answer is what the proxy answers by itself; nil where it forwards to Backends.
	Answer   route.Answer
	Backends []Backend
	// Hash is by what those backends choose an endpoint whose Balance is a hash.
	Hash []route.HashKey
	// NoBackend is the answer where none of Backends can take a request.
	NoBackend route.Respond
	Mirrors   []Mirror
	// Upgrade is whether WebSockets pass where it forwards.
	Upgrade  route.Upgrade
	Policies Policies
}

// Answers is what the proxy answers by itself to what matches; nil where it
// forwards.
func (r *Route) Answers() route.Answer {
	if r.Answer != nil {
		return r.Answer
	}
	for i := range r.Backends {
		if b := &r.Backends[i]; b.Cluster != "" && b.Weight > 0 {
			return nil
		}
	}
	if r.NoBackend.Status == 0 {
		return unable
	}
	return &r.NoBackend
}

// notForwarded is why a policy on attempts has no effect on a route that has an Answer.
const notForwarded = "the proxy answers by itself, and forwards nothing"

// Idle says why a field of what holds on the route has no effect there, where p is
// spoken; empty where it has one.
func (r *Route) Idle(e *policies.Effective, field int, p api.Protocol) string {
	if r.Answer != nil && e.Kind.Attempts {
		return notForwarded
	}
	return e.Idle(field, p)
}

// Acting are the policies of the route without those of which nothing can act there.
func (r *Route) Acting() Policies {
	if r.Answer == nil {
		return r.Policies
	}
	return slices.DeleteFunc(slices.Clone(r.Policies), func(e *policies.Effective) bool { return e.Kind.Attempts })
}

// Changes are the filters of the route, with what they come to where it forwards, after
// the headers of an answer of the proxy's own.
func (r *Route) Changes() []route.Filter {
	if do, ok := r.Answers().(*route.Respond); ok && len(do.Headers) > 0 {
		return append([]route.Filter{{ResponseHeaders: &route.HeaderModifier{Set: do.Headers}}}, r.Filters...)
	}
	if r.Answers() == nil {
		return route.Forwarding(r.Filters)
	}
	return r.Filters
}

// unable answers where nobody can and nothing else is said.
var unable = &route.Respond{Status: 500}

// Backend is one share of a route's traffic.
type Backend struct {
	Kind      string
	Name      string
	Namespace string
	Tags      map[string]string
	Port      uint32
	Weight    uint32 // as written; 0 gets nothing
	// Cluster names the cluster; empty where the backend cannot be used.
	Cluster string
	Broken  Broken
	Filters []route.Filter // of what goes to it, after those of the route
	Balance route.Balance  // of its endpoints
	HTTP2   bool           // requests go on in HTTP/2, because the rule says so
}

// Broken is why a backend cannot be used, and what becomes of its share: requests
// are answered with Status, whole connections are closed; with neither, others
// have the share.
type Broken struct {
	Why    string
	Status uint32
	Close  bool
}

// Gets reports whether a share of the traffic falls to b, usable or not.
func (b *Backend) Gets() bool {
	return b.Weight > 0 && (b.Cluster != "" || b.Broken.Status != 0 || b.Broken.Close)
}

// Outside reports whether a share of the traffic leads out of the mesh, where no sidecar answers.
func Outside(list []Backend) bool {
	for _, b := range Sharing(list) {
		if b.Cluster != "" && (b.Kind == api.KindMeshExternalService || b.Kind == api.KindAddress) {
			return true
		}
	}
	return false
}

// Sharing yields the backends to which a share of the traffic falls, numbered.
func Sharing(list []Backend) iter.Seq2[int, *Backend] {
	return func(yield func(int, *Backend) bool) {
		n := 0
		for i := range list {
			if !list[i].Gets() {
				continue
			}
			if !yield(n, &list[i]) {
				return
			}
			n++
		}
	}
}
