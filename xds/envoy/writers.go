// Package envoy is what all parts of Envoy's configuration are made of: values that routes, clusters,
// listeners and kinds of policy write alike, and what a policy's conf may implement to write into one.
package envoy

import (
	"net"
	"slices"
	"strconv"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// The writers are what a policy's conf may implement to reach Envoy. Each gets
// one object that is already complete but for policies, and sets only fields
// that no other kind sets, so the order of kinds does not matter. A conf writes
// only what it has a value for.

// FilterChain is a chain of filters of an inbound in a mesh with identities, by the name that it
// has in the listener (spec/identity.md 3.2).
type FilterChain string

// The chains; an inbound where nobody proves who it is has Unguarded alone.
const (
	Unguarded FilterChain = ""
	MTLS      FilterChain = "mtls"  // callers have proved who they are
	Plain     FilterChain = "plain" // they speak plaintext
	Own       FilterChain = "own"   // they speak TLS with the workload itself
)

// Place says what an object stands for.
type Place struct {
	Protocol api.Protocol
	Inbound  bool
	// FilterChain is that of a filter or of a manager; of routes, which all chains of an inbound
	// share, it is MTLS where there is such a chain.
	Chain FilterChain
	// Domains are the trust domains in which the inbound believes names, sorted.
	Domains []string
	// Outside says that a share of a route leads out of the mesh: nobody there may be believed
	// what only sidecars say.
	Outside bool
	// Mesh is that of the proxy, of filters and of managers.
	Mesh string
	// Said is who said what of the conf that writes; nil where nobody knows.
	Said *policies.Effective
	// Caller are those callers of whom alone the conf holds; nil for all.
	Caller *effective.CallerMatch
	// Paths says that rules of routes tell the requests of the inbound apart by their paths, or
	// who may call by one of them.
	Paths bool
	// Edge says that clients from outside the mesh call there.
	Edge bool
	// Service is the name of the dataplane's own service: at an outbound, whose listener several
	// dataplanes may share, only where a ServiceNamer asks for it.
	Service string
	// Destination is the name of what an outbound leads to, or the kuma.io/service of an inbound; empty for
	// several hosts, and for clients from outside.
	Destination string
	// Host is by what name the endpoints of a cluster are asked, where nobody says another.
	Host string
	// Balanced says that a route says of its cluster how endpoints are chosen, and Hashed by what of a request.
	Balanced, Hashed bool
	// Localities says that the endpoints of a cluster come in localities of which each has a weight.
	Localities bool
}

// InboundPlace is what the routes of an inbound stand for, which all its chains share.
func InboundPlace(i *effective.Inbound) Place {
	p := Place{Protocol: i.Protocol, Inbound: true, Paths: i.TellsPathsApart() || slices.ContainsFunc(i.Rules, namesPath)}
	if i.TLS != nil {
		p.Chain, p.Domains = MTLS, i.TLS.Domains
	}
	return p
}

// namesPath reports whether who may call by a rule depends on paths.
func namesPath(r effective.InboundRule) bool {
	return slices.ContainsFunc(r.Permissions(), func(e *policies.Effective) bool {
		t, ok := e.Conf.(PathTeller)
		return ok && t.OneSpelling()
	})
}

// Guard decides who may come in, and is in every chain but Unguarded before all other
// filters, whether a document says something or not: it is asked of a new conf of each
// kind. Conf is what holds there for the kind; nil where nobody says anything.
type Guard interface {
	GuardRequests(Place) []*hcmv3.HttpFilter
	GuardConnections(conf policies.Conf, at Place) []*listenerv3.Filter
	// Callers are the names of which who opens a connection needs one, so that the handshake
	// refuses everybody else; not ok where names alone do not decide.
	Callers(conf policies.Conf) (names []*matcherv3.StringMatcher, ok bool)
	// Revoked are the names to which an inbound is closed for good, by revocation: with another
	// of them the connections that are open drain (spec/identity.md 2.2).
	Revoked(conf policies.Conf) []string
}

// ServiceNamer is a conf that may write the name of the dataplane's own service into a listener.
type ServiceNamer interface {
	NamesService() bool
}

// ResourceWriter names the clusters that a proxy must have beside what the conf writes into the
// listener at a place, and before it: Envoy refuses a tracer whose cluster is not there.
type ResourceWriter interface {
	Clusters(Place) []OwnCluster
}

// OwnCluster is a cluster that a conf asks for, and that no route names. Whoever asks for the same
// shares it.
type OwnCluster struct {
	Use   string // how the cluster is called before its address: otel
	Host  string // an IP or a DNS name
	Port  uint32
	HTTP2 bool   // by prior knowledge
	TLS   bool   // the certificate has to be of the host
	Field string // the leaf that asks for it
}

// Name is that of the cluster: one of all that is to be known to call it.
func (c OwnCluster) Name() string {
	use := c.Use
	if c.TLS {
		use += "+tls"
	}
	return use + ":" + net.JoinHostPort(c.Host, strconv.FormatUint(uint64(c.Port), 10))
}

// NamesService reports whether something that holds may write the name of the dataplane's own service.
func NamesService(ps effective.Policies) bool {
	return slices.ContainsFunc(ps, func(e *policies.Effective) bool {
		n, ok := e.Conf.(ServiceNamer)
		return ok && n.NamesService()
	})
}

// InboundWriter writes what the virtual host of an inbound says to filters of all its routes,
// or one route of its own requests.
type InboundWriter interface {
	WriteInbound(filters *map[string]*anypb.Any, at Place)
}

// PathTeller is a conf by which it may depend on the path who gets in at an inbound.
type PathTeller interface {
	OneSpelling() bool
}

// RouteWriter writes one route. Routes that redirect or answer by themselves
// have no RouteAction; whatever belongs there does not apply to them.
type RouteWriter interface {
	WriteRoute(*routev3.Route, Place)
}

// HostWriter moves what several routes of one virtual host share into it. It is
// asked of the conf of one of the routes, once all of them are written.
type HostWriter interface {
	WriteHost(*routev3.VirtualHost, []HostRoute)
}

// HostRoute is a route of the virtual host that a policy of the kind has written.
type HostRoute struct {
	Route  *routev3.Route
	Policy *policies.Effective
}

// ClusterWriter writes one cluster. Options are nil where the cluster does not speak HTTP.
type ClusterWriter interface {
	WriteCluster(*clusterv3.Cluster, *upstreamhttpv3.HttpProtocolOptions, Place)
}

// ManagerWriter writes the connection manager of an HTTP listener.
type ManagerWriter interface {
	WriteManager(*hcmv3.HttpConnectionManager, Place)
}

// PartWriter is a conf that holds of a part of what comes by a listener, of the requests of a route or of
// some callers, and needs something in the listener as a whole. It is asked for each such part, after the
// confs of the whole were; what it adds may not depend on the order of parts.
type PartWriter interface {
	WritePartOfManager(*hcmv3.HttpConnectionManager, Place)
	WritePartOfTCP(*tcpproxyv3.TcpProxy, Place)
}

// TCPWriter writes the TCP proxy of a listener.
type TCPWriter interface {
	WriteTCP(*tcpproxyv3.TcpProxy, Place)
}

// NetworkFilterWriter puts network filters before the last one of a listener.
type NetworkFilterWriter interface {
	NetworkFilters(Place) []*listenerv3.Filter
}

// HTTPFilterWriter names the HTTP filters that must be in every connection
// manager, from the start and without configuration, so that routes can use
// them. It is asked of a new conf of each kind.
type HTTPFilterWriter interface {
	HTTPFilters() []*hcmv3.HttpFilter
}

// LastFilterWriter is the same for filters that act on requests which all others let pass: they stand behind
// guards, limits and the authorization service, right before the router.
type LastFilterWriter interface {
	LastFilters() []*hcmv3.HttpFilter
}
