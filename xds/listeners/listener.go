// Package listeners renders where an Envoy listens, and the filters of each listener. Listeners name
// routes and clusters and hold none of them.
package listeners

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/check"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
)

const (
	tcpProxyFilter = "envoy.filters.network.tcp_proxy"
	tagsMetadata   = "io.kuma.tags"
)

// common is what all listeners that do the same have in common, whoever's they
// are and wherever they listen.
type common struct {
	chain
	filters []*listenerv3.Filter
	named   []*listenerv3.FilterChain // in their place, one for each name
	blind   bool                      // there is nothing to tell them apart by
	more    []string                  // clusters that they name beside those of the chain
	beside  []resource.Beside         // clusters that confs need there
	origins []*api.Origin             // whose values stand in filters
	err     error                     // why Envoy would refuse them
	// listeners are those of the outbounds that have it, by where they listen.
	listeners resource.Weak[place, ownOutbound]
}

func (b *Builder) common(c chain) *common {
	out := &common{chain: c}
	for i, part := range c.parts() {
		filters := out.checked(b.filters(part))
		if part.by != nil {
			out.origins = append(out.origins, part.by)
		}
		if len(c.names) == 0 {
			out.filters = filters
			continue
		}
		out.named = append(out.named, &listenerv3.FilterChain{Name: c.names[i].name, Filters: filters,
			FilterChainMatch: &listenerv3.FilterChainMatch{ServerNames: []string{c.names[i].name}}})
	}
	for _, e := range c.ps {
		out.origins = append(out.origins, origin.SetBy(e, func(conf policies.Conf) proto.Message {
			only := c
			only.ps, only.of = effective.Policies{{Kind: e.Kind, Conf: conf}}, nil
			return &listenerv3.FilterChain{Filters: b.filters(only)}
		})...)
	}
	for _, p := range c.of {
		if p.caller != nil { // a route names those of its own: the listener is the same whichever route asks
			out.origins = append(out.origins, b.setByPart(c, p)...)
		}
	}
	out.beside = c.besides()
	return out
}

// checked are filters, of which it is noted why Envoy would refuse them.
func (in *common) checked(filters []*listenerv3.Filter) []*listenerv3.Filter {
	for _, f := range filters {
		in.err = cmp.Or(in.err, check.Extension(f.GetTypedConfig()))
	}
	return filters
}

// Dataplane is a dataplane as far as its listeners depend on it.
type Dataplane struct {
	ref        api.Ref
	Redirected bool // its traffic is redirected to them
	Service    string
}

// OwnerOf is the dataplane of r.
func OwnerOf(r *effective.Resolved) Dataplane { return Dataplane{r.Ref, transparent(r), serviceOf(r)} }

// serviceOf is the name of the dataplane's own service: that of the first inbound with one, or of a
// gateway; the dataplane's own name where there is none.
func serviceOf(r *effective.Resolved) string {
	if dp, ok := r.Dataplane.Spec.(*api.Dataplane); ok && dp.Networking != nil {
		for i := range dp.Networking.Inbound {
			if name := dp.Networking.Inbound[i].Tags[api.TagService]; name != "" {
				return name
			}
		}
		if g := dp.Networking.Gateway; g != nil && g.Tags[api.TagService] != "" {
			return g.Tags[api.TagService]
		}
	}
	return r.Ref.Name
}

func transparent(r *effective.Resolved) bool {
	dp, ok := r.Dataplane.Spec.(*api.Dataplane)
	return ok && dp.Networking != nil && dp.Networking.TransparentProxying != nil
}

// listener finishes out: address, filters, metadata, checks.
func (b *Builder) listener(out *listenerv3.Listener, ip string, port uint32, in *common, whose Dataplane, tags map[string]string) (*resource.Resource, []api.Note) {
	out.Address = envoy.Socket(ip, port)
	if whose.Redirected && in.edge == nil {
		out.BindToPort = wrapperspb.Bool(false)
	}
	switch {
	case in.passes:
		lookFirst(out, in.filters)
	case len(in.named) > 0:
		tellApart(out, in)
	default:
		out.FilterChains = []*listenerv3.FilterChain{{Filters: in.filters}}
	}
	all := append([]*api.Origin{{Ref: whose.ref}}, in.origins...)
	origins := in.origins
	if in.place.Inbound {
		origins = all
	}
	out.Metadata = cmp.Or(origin.Metadata(origins), &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{}})
	out.Metadata.FilterMetadata[tagsMetadata] = &structpb.Struct{
		Fields: map[string]*structpb.Value{"tags": structpb.NewStructValue(envoy.TextStruct(tags))},
	}
	if err := cmp.Or(in.err, checkListener(out, ip)); err != nil {
		return nil, origin.Refused(all, "nobody listens at "+naming.Address(ip, port), err)
	}
	res := resource.New(out.Name, out)
	if in.routes != "" {
		res.Routes = []string{in.routes}
	}
	for _, part := range in.parts() {
		res.Clusters = append(res.Clusters, part.split.Clusters()...)
	}
	res.Clusters = append(res.Clusters, in.more...)
	for _, x := range in.beside {
		res.Clusters = append(res.Clusters, x.Name())
	}
	res.Beside = in.beside
	if in.passes {
		res.Clusters = append(res.Clusters, naming.Passthrough)
	}
	slices.Sort(res.Clusters)
	res.Clusters = slices.Compact(res.Clusters)
	return res, nil
}

// filters are the network filters of a chain, the one that ends it last.
func (b *Builder) filters(c chain) []*listenerv3.Filter {
	var out []*listenerv3.Filter
	for _, e := range c.ps {
		if w, ok := e.Conf.(envoy.NetworkFilterWriter); ok {
			out = append(out, w.NetworkFilters(c.place)...)
		}
	}
	slices.SortStableFunc(out, func(a, b *listenerv3.Filter) int { return strings.Compare(a.Name, b.Name) })
	out = append(b.guardConnections(c), out...)
	if c.routes != "" {
		return append(out, b.manager(c))
	}
	proxy := tcpProxy(c)
	for _, e := range c.ps {
		if w, ok := e.Conf.(envoy.TCPWriter); ok {
			w.WriteTCP(proxy, c.place)
		}
	}
	c.writePartsOfTCP(proxy)
	return append(out, &listenerv3.Filter{
		Name: tcpProxyFilter, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(proxy)},
	})
}

// tcpProxy closes the share of connections that nobody can take, for lack of a
// way to say more over bytes: Envoy closes what falls to a cluster that is not there.
func tcpProxy(c chain) *tcpproxyv3.TcpProxy {
	out := &tcpproxyv3.TcpProxy{StatPrefix: c.stat}
	if c.bound > 0 {
		out.MaxDownstreamConnectionDuration = durationpb.New(c.bound)
	}
	switch len(c.split.Shares) {
	case 0:
		out.ClusterSpecifier = &tcpproxyv3.TcpProxy_Cluster{Cluster: naming.Unresolved}
	case 1:
		out.ClusterSpecifier = &tcpproxyv3.TcpProxy_Cluster{Cluster: c.split.Shares[0].Cluster}
	default:
		weighted := &tcpproxyv3.TcpProxy_WeightedCluster{}
		for _, h := range c.split.Shares {
			weighted.Clusters = append(weighted.Clusters, &tcpproxyv3.TcpProxy_WeightedCluster_ClusterWeight{Name: h.Cluster, Weight: h.Weight})
		}
		out.ClusterSpecifier = &tcpproxyv3.TcpProxy_WeightedClusters{WeightedClusters: weighted}
	}
	return out
}

// silence is how long a client that says nothing is waited for, which may be one that
// waits for the server to speak first (spec/identity.md 0, F9).
const silence = time.Second

// checkListener finds what Envoy refuses in a listener.
func checkListener(l *listenerv3.Listener, ip string) error {
	if !envoy.IsIP(ip) {
		return errors.New("the address of a listener must be an IP")
	}
	return l.ValidateAll()
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

// readServerNames makes a listener look for the name that a client asks for in TLS before
// it chooses a chain.
func readServerNames() []*listenerv3.ListenerFilter {
	return []*listenerv3.ListenerFilter{{
		Name: "envoy.filters.listener.tls_inspector", ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: envoy.Pack(&tlsinspectorv3.TlsInspector{})},
	}}
}
