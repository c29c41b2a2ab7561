package accesslog

import (
	"slices"
	"strings"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	celv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/filters/cel/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/matchers"
)

// routeKey is where a route with a list of its own says to which backends its requests are written.
const routeKey = "weft.log"

// What loggers know of a route is its metadata, and that it has none where no route took the request
// (spec/kinds.md F11).
const (
	unmarked = "!has(xds.route_metadata) || !('" + routeKey + "' in xds.route_metadata.filter_metadata)"
	anyMark  = "has(xds.route_metadata) && '" + routeKey + "' in xds.route_metadata.filter_metadata && "
	itsMark  = " in xds.route_metadata.filter_metadata['" + routeKey + "']"
)

// markedFor holds of requests whose route names the backend of a logger.
func markedFor(logger string) string {
	return anyMark + "'" + strings.TrimPrefix(logger, namePrefix) + "'" + itsMark
}

// WriteRoute marks a route with a list of its own. One that has what holds of the whole destination says
// nothing: then another such list changes no route.
func (c *Conf) WriteRoute(r *routev3.Route, at envoy.Place) {
	if c.Backends == nil || at.Inbound || !own(at) {
		return
	}
	if r.Metadata == nil {
		r.Metadata = &corev3.Metadata{}
	}
	if r.Metadata.FilterMetadata == nil {
		r.Metadata.FilterMetadata = map[string]*structpb.Struct{}
	}
	r.Metadata.FilterMetadata[routeKey] = c.mark()
}

// own reports whether the list is one of the route, and not that of all requests to the destination.
func own(at envoy.Place) bool {
	f, ok := at.Said.Get("backends")
	return !ok || f.Winner().Layer >= merge.Host
}

// WriteManager writes what all requests have, unless their route has a list of its own: also those that
// no route takes.
func (c *Conf) WriteManager(m *hcmv3.HttpConnectionManager, at envoy.Place) {
	for l := range c.loggers(at, true) {
		if !at.Inbound {
			l.Filter = expression("(" + unmarked + ") || (" + markedFor(l.Name) + ")")
		}
		add(&m.AccessLog, l)
	}
}

// WriteTCP writes what all connections have.
func (c *Conf) WriteTCP(t *tcpproxyv3.TcpProxy, at envoy.Place) {
	for l := range c.loggers(at, false) {
		add(&t.AccessLog, l)
	}
}

// WritePartOfManager adds what a route has and the listener as a whole has not, or some callers have.
func (c *Conf) WritePartOfManager(m *hcmv3.HttpConnectionManager, at envoy.Place) {
	if at.Caller == nil && !own(at) {
		return
	}
	for l := range c.loggers(at, true) {
		switch {
		case at.Caller != nil:
			l.Filter = &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_HeaderFilter{HeaderFilter: &accesslogv3.HeaderFilter{Header: matchers.Caller(*at.Caller)}}}
		case slices.ContainsFunc(m.AccessLog, func(x *accesslogv3.AccessLog) bool { return x.Name == l.Name }):
			continue // which is for marked routes too: a route that names what all have changes no listener
		default:
			l.Filter = expression(markedFor(l.Name))
		}
		add(&m.AccessLog, l)
	}
}

// WritePartOfTCP adds what some callers have.
func (c *Conf) WritePartOfTCP(t *tcpproxyv3.TcpProxy, at envoy.Place) {
	if at.Caller == nil {
		return
	}
	for l := range c.loggers(at, false) {
		l.Filter = expression(proves(*at.Caller))
		add(&t.AccessLog, l)
	}
}

// proves holds of connections of callers that a certificate proves to be c: by the first of its names,
// which is all that is known there (spec/kinds.md F21).
func proves(c effective.CallerMatch) string {
	const name = "connection.uri_san_peer_certificate"
	if c.Below {
		return name + " == '" + c.ID + "' || " + name + ".startsWith('" + c.ID + "/')"
	}
	return name + " == '" + c.ID + "'"
}

// loggers yields those of the backends to which lines are written.
func (c *Conf) loggers(at envoy.Place, http bool) func(yield func(*accesslogv3.AccessLog) bool) {
	return func(yield func(*accesslogv3.AccessLog) bool) {
		for i := range c.Backends {
			if b := &c.Backends[i]; b.written() && !yield(b.logger(at, http)) {
				return
			}
		}
	}
}

// add puts l among the loggers of this kind, which stand in the order of their names; of two to one
// backend the filters are joined, and one without a filter has all.
func add(list *[]*accesslogv3.AccessLog, l *accesslogv3.AccessLog) {
	i := slices.IndexFunc(*list, func(x *accesslogv3.AccessLog) bool { return strings.HasPrefix(x.Name, namePrefix) && x.Name >= l.Name })
	switch {
	case i < 0:
		*list = append(*list, l)
	case (*list)[i].Name != l.Name:
		*list = slices.Insert(*list, i, l)
	case (*list)[i].Filter == nil || l.Filter == nil:
		(*list)[i].Filter = nil
	default:
		(*list)[i].Filter = either((*list)[i].Filter, l.Filter)
	}
}

// either holds of what one of both holds of.
func either(a, b *accesslogv3.AccessLogFilter) *accesslogv3.AccessLogFilter {
	all := []*accesslogv3.AccessLogFilter{a}
	if or := a.GetOrFilter(); or != nil {
		all = slices.Clone(or.Filters)
	}
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_OrFilter{OrFilter: &accesslogv3.OrFilter{Filters: append(all, b)}}}
}

// expression is a filter by an expression of CEL.
func expression(text string) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ExtensionFilter{ExtensionFilter: &accesslogv3.ExtensionFilter{
		Name: "envoy.access_loggers.extension_filters.cel", ConfigType: &accesslogv3.ExtensionFilter_TypedConfig{TypedConfig: envoy.Pack(&celv3.ExpressionFilter{Expression: text})},
	}}}
}

// Clusters are those of collectors.
func (c *Conf) Clusters(envoy.Place) []envoy.OwnCluster {
	var out []envoy.OwnCluster
	for i := range c.Backends {
		if at, ok := c.Backends[i].OpenTelemetry.collector(); ok && c.Backends[i].written() {
			out = append(out, at)
		}
	}
	return out
}
