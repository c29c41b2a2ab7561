package listeners

import (
	"hash/fnv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/xds/backends"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/secrets"
)

// plainBound is how long a connection in plain text lives beside mutual TLS: that of a
// client that has learnt TLS dies out.
const plainBound = 5 * time.Minute

// Inbound renders the listener of an inbound, at which place what is for it arrives.
func (b *Builder) Inbound(whose Dataplane, at envoy.Place, i *effective.Inbound) (*resource.Resource, []api.Note) {
	name := naming.Inbound(i)
	c := chain{place: envoy.Place{Protocol: i.Protocol, Inbound: true, Domains: at.Domains, Paths: at.Paths, Mesh: whose.ref.Mesh, Service: whose.Service, Destination: i.Tags[api.TagService]}, stat: name, ps: i.Policies, of: ofCallers(i.Callers)}
	if at.Protocol.HTTPLike() {
		c.routes = naming.InboundRoutes(i)
	} else {
		c.split = backends.Split{Shares: []backends.Share{{Cluster: name, Weight: 1}}}
	}
	listener := &listenerv3.Listener{Name: name, TrafficDirection: corev3.TrafficDirection_INBOUND}
	in := b.common(c)
	if i.Guarded || i.TLS != nil {
		b.inboundChains(whose.ref, i, c, in)
		listener.AccessLog = connectionLog(i.TLS)
	}
	return b.listener(listener, i.Address, i.Port, in, whose, i.Tags)
}

// inboundChains are the chains of filters of an inbound in a mesh that knows identities, in
// place of those of in (spec/identity.md 3.2).
func (b *Builder) inboundChains(dp api.Ref, i *effective.Inbound, c chain, in *common) {
	http := c.routes != ""
	in.blind = !http
	if i.TLS == nil {
		in.named = []*listenerv3.FilterChain{{Name: string(envoy.Plain), Filters: in.filters}}
		return
	}
	proved := c
	proved.place.Chain, proved.stat, proved.bound = envoy.MTLS, c.stat+".mtls", spread(i.TLS.Life/2, dp.Name+" "+i.Name)
	mtls := &listenerv3.FilterChain{Name: string(envoy.MTLS), Filters: in.checked(b.filters(proved)), TransportSocket: b.accepting(dp.Mesh, i.TLS, &proved), Metadata: b.revoked(&proved)}
	if !i.TLS.TakesPlain() {
		if http {
			mtls.FilterChainMatch = &listenerv3.FilterChainMatch{TransportProtocol: "tls"}
		}
		in.named = []*listenerv3.FilterChain{mtls}
		return
	}
	in.blind = false
	mtls.FilterChainMatch = &listenerv3.FilterChainMatch{TransportProtocol: "tls", ApplicationProtocols: []string{envoy.ALPNMesh}}
	plain := c
	plain.place.Chain, plain.stat = envoy.Plain, c.stat+".plain"
	if http { // bytes have no way to say that a connection is about to end
		plain.bound = plainBound
	}
	in.named = []*listenerv3.FilterChain{
		{Name: string(envoy.Plain), FilterChainMatch: &listenerv3.FilterChainMatch{TransportProtocol: "raw_buffer"}, Filters: in.checked(b.filters(plain))},
		mtls,
		{Name: string(envoy.Own), FilterChainMatch: &listenerv3.FilterChainMatch{TransportProtocol: "tls"}, Filters: in.checked(b.filters(ownTLS(c, in)))},
	}
}

// ownTLS is the chain of callers that speak TLS with the workload itself: their bytes go on.
func ownTLS(c chain, in *common) chain {
	if c.routes != "" {
		c.split, c.routes = backends.Split{Shares: []backends.Share{{Cluster: c.stat, Weight: 1}}}, ""
	}
	c.place.Chain, c.place.Protocol, c.stat = envoy.Own, api.TCP, c.stat+".own"
	in.more = append(in.more, c.split.Clusters()...)
	return c
}

// accepting is how an inbound takes mutual TLS (spec/identity.md 3.1). No session is resumed:
// one would be after the certificate of the client has expired (F4).
func (b *Builder) accepting(mesh string, t *effective.InboundTLS, c *chain) *corev3.TransportSocket {
	context := &tlsv3.CommonTlsContext{
		TlsParams: secrets.Parameters(t.TLSParameters, false), TlsCertificateSdsSecretConfigs: secrets.Proves(mesh, t.OverADS),
		ValidationContextType: &tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig{ValidationContextSdsSecretConfig: secrets.Trusting(identity.TrustName(mesh))},
	}
	b.knows(c, context)
	return &corev3.TransportSocket{Name: envoy.TLSSocketName, ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: envoy.Pack(&tlsv3.DownstreamTlsContext{
		RequireClientCertificate: wrapperspb.Bool(true),
		SessionTicketKeysType:    &tlsv3.DownstreamTlsContext_DisableStatelessSessionResumption{DisableStatelessSessionResumption: true},

		DisableStatefulSessionResumption: true,
		CommonTlsContext:                 context,
	})}}
}

// spread is d, up to a tenth more or less as a name decides, so that what many do once in a
// while they do not all do at one time.
func spread(d time.Duration, name string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it cannot fail
	return d - d/10 + time.Duration(h.Sum32()%2001)*(d/10)/1000
}
