package xds

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

const (
	tcpProxyFilter = "envoy.filters.network.tcp_proxy"
	tagsMetadata   = "io.kuma.tags"
)

// chain is what one listener does with a connection: requests by a route
// configuration, or bytes to clusters.
type chain struct {
	place  Place
	stat   string // prefix of statistics
	routes string // name of the route configuration; empty for bytes
	hosts  bool   // routes are those of hosts
	passes bool   // what is for none of them goes on to where it was going
	split  split
	by     *api.Origin  // whose word split is; nil for nobody's
	names  []serverName // in place of split: by the names that clients ask for in TLS
	ps     effective.Policies
	edge   *effective.Edge // for clients from outside the mesh; nil for others
	bound  time.Duration   // how long connections live; 0: as long as they want
}

// serverName is where the bytes go of those who ask for a name in TLS.
type serverName struct {
	name  string
	split split
	by    *api.Origin
}

// parts are the chain itself, or one for each name that clients ask for in TLS.
func (c *chain) parts() []chain {
	if len(c.names) == 0 {
		return []chain{*c}
	}
	out := make([]chain, len(c.names))
	for i, n := range c.names {
		out[i] = *c
		out[i].names, out[i].split, out[i].by = nil, n.split, n.by
	}
	return out
}

// outbound renders the listener by which the workload calls a destination, once
// for as long as o and the way traffic comes last: most changes leave most of a
// sidecar's listeners alone. It names no dataplane, so that all that listen for
// the same at the same address have one (spec/xds.md 1, 12).
func (x *Renderer) outbound(r *effective.Resolved, o *effective.Outbound) (*Resource, []api.Note) {
	at := place{o.Address, o.Port, transparent(r)}
	own := o.Listener.Do(func() any { return x.sharedOutbound(r, o, at) }).(*ownOutbound)
	if own.at != at || own.listener == nil { // what is said of a refusal names the dataplane
		own = x.sharedOutbound(r, o, at)
	}
	return own.listener, own.notes
}

func (x *Renderer) sharedOutbound(r *effective.Resolved, o *effective.Outbound, at place) *ownOutbound {
	kept := o.Kept.Listeners()
	if o.Passthrough {
		kept = o.Kept.Passing()
	}
	in := kept.Do(func() any { return x.common(outboundChain(o)) }).(*common)
	return in.listeners.get(at, func() *ownOutbound {
		own := &ownOutbound{at: at}
		own.listener, own.notes = x.renderOutbound(r, o, in)
		return own
	})
}

// outboundListener is the name of the listener at an outbound.
func outboundListener(o *effective.Outbound) string { return "outbound:" + joined(o.Address, o.Port) }

func outboundChain(o *effective.Outbound) chain {
	c := chain{place: Place{Protocol: o.Protocol()}, stat: o.Destination.ID, ps: o.Policies}
	switch {
	case o.ToHost():
		c.stat, c.hosts, c.passes = hostsName(o), true, o.Passthrough
		c.routes = c.stat
	case o.Table != nil:
		c.routes = TableName(o.Destination.ID)
	default:
		c.split, c.by = divide(o.TCP.Backends), o.TCP.BackendsBy
		for _, s := range o.TCP.ServerNames {
			c.names = append(c.names, serverName{s.Name, divide(s.Backends), s.BackendsBy})
		}
	}
	return c
}

func (x *Renderer) renderOutbound(r *effective.Resolved, o *effective.Outbound, in *common) (*Resource, []api.Note) {
	out := &listenerv3.Listener{
		Name:             outboundListener(o),
		TrafficDirection: corev3.TrafficDirection_OUTBOUND,
	}
	tags := map[string]string{api.TagService: o.Destination.Name}
	if o.ToHost() {
		tags[api.TagService] = hostsName(o)
	}
	res, notes := x.listener(out, o.Address, o.Port, in, ownerOf(r), tags)
	if o.TCP != nil {
		notes = append(notes, tcpNotes(o.TCP)...)
	}
	return res, notes
}

// common is what all listeners that do the same have in common, whoever's they
// are and wherever they listen.
type common struct {
	chain
	filters []*listenerv3.Filter
	named   []*listenerv3.FilterChain // in their place, one for each name
	blind   bool                      // there is nothing to tell them apart by
	more    []string                  // clusters that they name beside those of the chain
	origins []*api.Origin             // whose values stand in filters
	err     error                     // why Envoy would refuse them
	// listeners are those of the outbounds that have it, by where they listen.
	listeners shared
}

func (x *Renderer) common(c chain) *common {
	out := &common{chain: c}
	for i, part := range c.parts() {
		filters := x.filters(part)
		for _, f := range filters {
			out.err = cmp.Or(out.err, checkExtension(f.GetTypedConfig()))
		}
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
		out.origins = append(out.origins, setBy(e, func(conf policies.Conf) proto.Message {
			only := c
			only.ps = effective.Policies{{Kind: e.Kind, Conf: conf}}
			return &listenerv3.FilterChain{Filters: x.filters(only)}
		})...)
	}
	return out
}

// listener finishes out: address, filters, metadata, checks.
func (x *Renderer) listener(out *listenerv3.Listener, ip string, port uint32, in *common, whose owner, tags map[string]string) (*Resource, []api.Note) {
	out.Address = socket(ip, port)
	if whose.redirected && in.edge == nil {
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
	out.Metadata = cmp.Or(named(origins), &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{}})
	out.Metadata.FilterMetadata[tagsMetadata] = &structpb.Struct{
		Fields: map[string]*structpb.Value{"tags": structpb.NewStructValue(textStruct(tags))},
	}
	if err := cmp.Or(in.err, checkListener(out, ip)); err != nil {
		return nil, refused(all, "nobody listens at "+joined(ip, port), err)
	}
	res := newResource(out.Name, out)
	if in.routes != "" {
		res.Routes = []string{in.routes}
	}
	for _, part := range in.parts() {
		res.Clusters = append(res.Clusters, part.split.clusters()...)
	}
	res.Clusters = append(res.Clusters, in.more...)
	if in.passes {
		res.Clusters = append(res.Clusters, Passthrough)
	}
	slices.Sort(res.Clusters)
	res.Clusters = slices.Compact(res.Clusters)
	return res, nil
}

// filters are the network filters of a chain, the one that ends it last.
func (x *Renderer) filters(c chain) []*listenerv3.Filter {
	var out []*listenerv3.Filter
	for _, e := range c.ps {
		if w, ok := e.Conf.(NetworkFilterWriter); ok {
			out = append(out, w.NetworkFilters(c.place)...)
		}
	}
	slices.SortStableFunc(out, func(a, b *listenerv3.Filter) int { return strings.Compare(a.Name, b.Name) })
	out = append(x.guardConnections(c), out...)
	if c.routes != "" {
		return append(out, x.manager(c))
	}
	proxy := tcpProxy(c)
	for _, e := range c.ps {
		if w, ok := e.Conf.(TCPWriter); ok {
			w.WriteTCP(proxy, c.place)
		}
	}
	return append(out, &listenerv3.Filter{
		Name: tcpProxyFilter, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: Pack(proxy)},
	})
}

// tcpProxy closes the share of connections that nobody can take, for lack of a
// way to say more over bytes: Envoy closes what falls to a cluster that is not there.
func tcpProxy(c chain) *tcpproxyv3.TcpProxy {
	out := &tcpproxyv3.TcpProxy{StatPrefix: c.stat}
	if c.bound > 0 {
		out.MaxDownstreamConnectionDuration = durationpb.New(c.bound)
	}
	switch len(c.split.shares) {
	case 0:
		out.ClusterSpecifier = &tcpproxyv3.TcpProxy_Cluster{Cluster: Unresolved}
	case 1:
		out.ClusterSpecifier = &tcpproxyv3.TcpProxy_Cluster{Cluster: c.split.shares[0].cluster}
	default:
		weighted := &tcpproxyv3.TcpProxy_WeightedCluster{}
		for _, h := range c.split.shares {
			weighted.Clusters = append(weighted.Clusters, &tcpproxyv3.TcpProxy_WeightedCluster_ClusterWeight{Name: h.cluster, Weight: h.weight})
		}
		out.ClusterSpecifier = &tcpproxyv3.TcpProxy_WeightedClusters{WeightedClusters: weighted}
	}
	return out
}

// clusters are those among the shares that there are.
func (s *split) clusters() []string {
	var out []string
	for _, h := range s.shares {
		if h.cluster != Unresolved {
			out = append(out, h.cluster)
		}
	}
	return out
}

// checkListener finds what Envoy refuses in a listener.
func checkListener(l *listenerv3.Listener, ip string) error {
	if !isIP(ip) {
		return errors.New("the address of a listener must be an IP")
	}
	return l.ValidateAll()
}

func transparent(r *effective.Resolved) bool {
	dp, ok := r.Dataplane.Spec.(*api.Dataplane)
	return ok && dp.Networking != nil && dp.Networking.TransparentProxying != nil
}

func joined(address string, port uint32) string {
	return net.JoinHostPort(address, strconv.FormatUint(uint64(port), 10))
}
