package xds

import (
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

const (
	// plainBound is how long a connection in plain text lives beside mutual TLS: that of a
	// client that has learnt TLS dies out.
	plainBound = 5 * time.Minute
	// silence is how long a client that says nothing is waited for, which may be one that
	// waits for the server to speak first (spec/identity.md 0, F9).
	silence = time.Second
)

// inboundChains are the chains of filters of an inbound in a mesh that knows identities, in
// place of those of in (spec/identity.md 3.2).
func (x *Renderer) inboundChains(dp api.Ref, i *effective.Inbound, c chain, in *common) {
	http := c.routes != ""
	in.blind = !http
	if i.TLS == nil {
		in.named = []*listenerv3.FilterChain{{Name: string(Plain), Filters: in.filters}}
		return
	}
	proved := c
	proved.place.Chain, proved.stat, proved.bound = MTLS, c.stat+".mtls", spread(i.TLS.Life/2, dp.Name+" "+i.Name)
	mtls := &listenerv3.FilterChain{Name: string(MTLS), Filters: x.filters(proved), TransportSocket: x.accepting(dp.Mesh, i.TLS, &proved), Metadata: x.revoked(&proved)}
	if !i.TLS.TakesPlain() {
		if http {
			mtls.FilterChainMatch = &listenerv3.FilterChainMatch{TransportProtocol: "tls"}
		}
		in.named = []*listenerv3.FilterChain{mtls}
		return
	}
	in.blind = false
	mtls.FilterChainMatch = &listenerv3.FilterChainMatch{TransportProtocol: "tls", ApplicationProtocols: []string{alpnMesh}}
	plain := c
	plain.place.Chain, plain.stat = Plain, c.stat+".plain"
	if http { // bytes have no way to say that a connection is about to end
		plain.bound = plainBound
	}
	in.named = []*listenerv3.FilterChain{
		{Name: string(Plain), FilterChainMatch: &listenerv3.FilterChainMatch{TransportProtocol: "raw_buffer"}, Filters: x.filters(plain)},
		mtls,
		{Name: string(Own), FilterChainMatch: &listenerv3.FilterChainMatch{TransportProtocol: "tls"}, Filters: x.filters(ownTLS(c, in))},
	}
}

// ownTLS is the chain of callers that speak TLS with the workload itself: their bytes go on.
func ownTLS(c chain, in *common) chain {
	if c.routes != "" {
		c.split, c.routes = split{shares: []share{{cluster: c.stat, weight: 1}}}, ""
	}
	c.place.Chain, c.place.Protocol, c.stat = Own, api.TCP, c.stat+".own"
	in.more = c.split.clusters()
	return c
}

// tellApart makes a listener find out which of its chains a connection is for.
func tellApart(out *listenerv3.Listener, in *common) {
	out.FilterChains = in.named
	if in.blind {
		return
	}
	out.ListenerFilters = readServerNames()
	if !in.place.Inbound || in.edge != nil {
		return
	}
	out.ContinueOnListenerFiltersTimeout = true // or who opens a connection long before the first request loses it
	if in.routes == "" {
		out.ListenerFiltersTimeout = durationpb.New(silence)
	}
}

// bounded is how long connections live, if c says so.
func (c *chain) bounded(o *corev3.HttpProtocolOptions) {
	if c.bound > 0 {
		o.MaxConnectionDuration = durationpb.New(c.bound)
	}
}

// namesPath reports whether who may call by a rule depends on paths.
func namesPath(r effective.InboundRule) bool {
	if r.Permission == nil {
		return false
	}
	t, ok := r.Permission.Conf.(PathTeller)
	return ok && t.OneSpelling()
}

// inboundPlace is what the routes of an inbound stand for, which all its chains share.
func inboundPlace(i *effective.Inbound) Place {
	p := Place{Protocol: i.Protocol, Inbound: true, Paths: i.TellsPathsApart() || slices.ContainsFunc(i.Rules, namesPath)}
	if i.TLS != nil {
		p.Chain, p.Domains = MTLS, i.TLS.Domains
	}
	return p
}
