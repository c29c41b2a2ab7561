package xds

import (
	"slices"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/weftmesh/weft/policies"
)

// guard is a kind that decides who may come in.
type guard struct {
	kind string
	Guard
}

func guardsOf(kinds []*policies.Kind) []guard {
	var out []guard
	for _, k := range kinds {
		if g, ok := k.New().(Guard); ok {
			out = append(out, guard{k.Name, g})
		}
	}
	slices.SortFunc(out, func(a, b guard) int { return strings.Compare(a.kind, b.kind) })
	return out
}

// guardRequests are the HTTP filters that decide who may come in by a chain.
func (x *Renderer) guardRequests(c chain) []*hcmv3.HttpFilter {
	if c.place.Chain == Unguarded {
		return nil
	}
	var out []*hcmv3.HttpFilter
	for _, g := range x.guards {
		out = append(out, g.GuardRequests(c.place)...)
	}
	return out
}

// guardConnections are the network filters that decide it where nobody reads requests.
func (x *Renderer) guardConnections(c chain) []*listenerv3.Filter {
	if c.place.Chain == Unguarded || c.routes != "" {
		return nil
	}
	var out []*listenerv3.Filter
	for _, g := range x.guards {
		var conf policies.Conf
		if e := c.ps.Of(g.kind); e != nil {
			conf = e.Conf
		}
		out = append(out, g.GuardConnections(conf, c.place)...)
	}
	return out
}
