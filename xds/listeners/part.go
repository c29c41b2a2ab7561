package listeners

import (
	"slices"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
)

// part is what holds of a part of what comes by a listener, and needs something in the listener: of the
// requests of routes or, with callers, of those.
type part struct {
	*policies.Effective
	caller *effective.CallerMatch
}

// RoutedConfs is what the listener of outbounds needs for the routes to them.
type RoutedConfs []*policies.Effective

// RoutedConfsOf are those of the routes to outbounds, each once, in the order of the routes.
func RoutedConfsOf(outbounds ...*effective.Outbound) RoutedConfs {
	var out RoutedConfs
	for _, o := range outbounds {
		if o.Table == nil {
			continue
		}
		var last effective.Policies
		for _, r := range o.Table.Routes {
			if last.Is(r.Policies) { // most routes have what the one before has
				continue
			}
			last = r.Policies
			for _, e := range r.Policies {
				if _, needs := e.Conf.(envoy.PartWriter); needs && !slices.Contains(out, e) {
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// ofRoutes are parts as a chain has them.
func (p RoutedConfs) ofRoutes() []part {
	out := make([]part, len(p))
	for i, e := range p {
		out[i] = part{Effective: e}
	}
	return out
}

// ofCallers are what an inbound needs for some callers.
func ofCallers(list []effective.CallerPolicies) []part {
	var out []part
	for i := range list {
		for _, e := range list[i].Policies {
			if _, needs := e.Conf.(envoy.PartWriter); needs {
				out = append(out, part{e, &list[i].CallerMatch})
			}
		}
	}
	return out
}

// at is where the part of a chain is.
func (p part) at(c *chain) envoy.Place {
	at := c.place
	at.Said, at.Caller = p.Effective, p.caller
	return at
}

// writePartsOfManager lets those parts write that come by the chain: who proves nothing is none of the
// callers who are told apart.
func (c *chain) writePartsOfManager(m *hcmv3.HttpConnectionManager) {
	for _, p := range c.of {
		if w, ok := p.Conf.(envoy.PartWriter); ok && p.comesBy(c) {
			w.WritePartOfManager(m, p.at(c))
		}
	}
}

func (c *chain) writePartsOfTCP(t *tcpproxyv3.TcpProxy) {
	for _, p := range c.of {
		if w, ok := p.Conf.(envoy.PartWriter); ok && p.comesBy(c) {
			w.WritePartOfTCP(t, p.at(c))
		}
	}
}

func (p part) comesBy(c *chain) bool { return p.caller == nil || c.place.Chain == envoy.MTLS }

// setByPart are those whose values stand in the filters of c because of p, which is of some callers.
func (b *Builder) setByPart(c chain, p part) []*api.Origin {
	c.ps, c.place.Chain = nil, envoy.MTLS
	return origin.SetBy(p.Effective, func(conf policies.Conf) proto.Message {
		c.of = []part{{&policies.Effective{Kind: p.Kind, Conf: conf, Fields: p.Fields}, p.caller}}
		return &listenerv3.FilterChain{Filters: b.filters(c)}
	})
}

// besides are the clusters that confs of the chain need beside those of destinations.
func (c *chain) besides() []resource.Beside {
	var out []resource.Beside
	add := func(e *policies.Effective, at envoy.Place) {
		w, ok := e.Conf.(envoy.ResourceWriter)
		if !ok {
			return
		}
		for _, cluster := range w.Clusters(at) {
			x := resource.Beside{OwnCluster: cluster}
			if f, ok := e.Get(cluster.Field); ok {
				x.By = []*api.Origin{f.Winner().Origin}
			}
			out = append(out, x)
		}
	}
	for _, e := range c.ps {
		add(e, c.place)
	}
	for _, p := range c.of {
		add(p.Effective, p.at(c))
	}
	return out
}
