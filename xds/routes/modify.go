package routes

import (
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/backends"
)

// modify sets the header changes of r's answer and filters. Envoy makes those of
// a backend before those of the route. For answers that is right, for they come
// back from the backend; of requests, where a backend has filters of its own, each
// has the changes of both, in their order.
func modify(out *routev3.Route, r *effective.Route, s backends.Split) {
	m := modification(r.Changes())
	out.ResponseHeadersToAdd, out.ResponseHeadersToRemove = m.response.toAdd(), m.response.toRemove()
	if out.GetRoute() == nil || !s.Filtered {
		out.RequestHeadersToAdd, out.RequestHeadersToRemove = m.request.toAdd(), m.request.toRemove()
		return
	}
	action := out.GetRoute()
	host := action.GetHostRewriteLiteral()
	if host != "" {
		action.HostRewriteSpecifier = nil
	}
	for i, c := range action.GetWeightedClusters().GetClusters() {
		both, own := modification(slices.Concat(r.Filters, s.Shares[i].Filters)), modification(s.Shares[i].Filters)
		c.RequestHeadersToAdd, c.RequestHeadersToRemove = both.request.toAdd(), both.request.toRemove()
		c.ResponseHeadersToAdd, c.ResponseHeadersToRemove = own.response.toAdd(), own.response.toRemove()
		name := host
		if w := route.LastRewrite(s.Shares[i].Filters); w != nil && w.Hostname != "" {
			name = w.Hostname
		}
		if name != "" {
			c.HostRewriteSpecifier = &routev3.WeightedCluster_ClusterWeight_HostRewriteLiteral{HostRewriteLiteral: name}
		}
	}
}

// modifications are the changes of headers, of requests and of answers.
type modifications struct{ request, response headers }

func modification(filters []route.Filter) *modifications {
	out := &modifications{}
	for i := range filters {
		if m := filters[i].RequestHeaders; m != nil {
			out.request.apply(m)
		}
		if m := filters[i].ResponseHeaders; m != nil {
			out.response.apply(m)
		}
	}
	return out
}

// ChangesHeaders reports whether r changes a header, for all its backends or one.
func ChangesHeaders(r *routev3.Route) bool {
	some := func(add, addBack []*corev3.HeaderValueOption, remove, removeBack []string) bool {
		return len(add)+len(addBack)+len(remove)+len(removeBack) > 0
	}
	return some(r.RequestHeadersToAdd, r.ResponseHeadersToAdd, r.RequestHeadersToRemove, r.ResponseHeadersToRemove) ||
		slices.ContainsFunc(r.GetRoute().GetWeightedClusters().GetClusters(), func(c *routev3.WeightedCluster_ClusterWeight) bool {
			return c.GetHostRewriteLiteral() != "" ||
				some(c.RequestHeadersToAdd, c.ResponseHeadersToAdd, c.RequestHeadersToRemove, c.ResponseHeadersToRemove)
		})
}
