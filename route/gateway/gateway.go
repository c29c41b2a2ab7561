// Package gateway is the route language of the Gateway API: HTTPRoute, GRPCRoute, TLSRoute
// and TCPRoute, and the Gateways that they name (spec/gateway-api.md).
//
// It promises that every field of a document is either carried into the route model
// or named in a violation or note; that a rule which cannot be carried out takes the
// requests that it names and answers them with an error, or takes none; and that no
// rule takes more than was written.
//
// It refuses to look for the endpoints behind a reference: that is resolve's.
package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// The kinds of routes, and of what stands beside them.
const (
	KindHTTPRoute      = "HTTPRoute"
	KindGRPCRoute      = "GRPCRoute"
	KindTLSRoute       = "TLSRoute"
	KindTCPRoute       = "TCPRoute"
	KindGateway        = "Gateway"
	KindGatewayClass   = "GatewayClass"
	KindReferenceGrant = "ReferenceGrant"

	group   = gatewayv1.GroupName
	version = "v1"
)

// Dialect is the route language. Where several kinds route a port the first of them owns it.
var Dialect = route.Dialect{
	Name: "gateway",
	Types: []api.Type{
		{Name: KindGRPCRoute, Plural: "grpcroutes", Short: "grpcr", Group: group, Version: version,
			Route: true, Attach: true, Narrowing: []string{"parentRefs", "matches"}, Annotations: api.LinkerdAnnotations(KindGRPCRoute), New: func() api.Spec { return new(GRPCRoute) }},
		{Name: KindHTTPRoute, Plural: "httproutes", Short: "httpr", Group: group, Version: version, Removed: olderVersions, Rewrite: today,
			Route: true, Attach: true, Narrowing: []string{"parentRefs", "matches"}, Annotations: api.LinkerdAnnotations(KindHTTPRoute), New: func() api.Spec { return new(HTTPRoute) }},
		{Name: KindTLSRoute, Plural: "tlsroutes", Short: "tlsr", Group: group, Version: version, Served: []string{"v1alpha2", "v1alpha3"},
			Route: true, Narrowing: []string{"parentRefs"}, New: func() api.Spec { return new(TLSRoute) }},
		{Name: KindTCPRoute, Plural: "tcproutes", Short: "tcpr", Group: group, Version: version, Served: []string{"v1alpha2"},
			Route: true, Narrowing: []string{"parentRefs"}, New: func() api.Spec { return new(TCPRoute) }},
		{Name: KindGateway, Plural: "gateways", Short: "gtw", Group: group, Version: version,
			Reported: true, Narrowing: []string{"allowedRoutes", "tls"}, New: func() api.Spec { return new(Gateway) }},
		{Name: KindGatewayClass, Plural: "gatewayclasses", Short: "gc", Group: group, Version: version, Unscoped: true,
			Reported: true, New: func() api.Spec { return new(GatewayClass) }},
	},
	Beside: []api.Type{
		{Name: KindReferenceGrant, Plural: "referencegrants", Short: "refgrant", Group: group, Version: version, Served: []string{"v1beta1"},
			Narrowing: []string{"from", "to"}, New: func() api.Spec { return new(ReferenceGrant) }},
	},
	Read:    func(o *api.Object, see route.Lister) *route.ParsedRoute { return read(o, see, false) },
	Keys:    keys,
	Compose: compose,
	Status:  status,
	Print:   printTable,
	Prints:  KindHTTPRoute, Hosts: true, Services: true, TLSHosts: true,
	Assume:    assume,
	Rewriters: map[string]route.Rewriter{KindHTTPRoute: fromOlder},
}

// routeKinds are the kinds of routes, in the order in which they own a port.
var routeKinds = []string{KindGRPCRoute, KindHTTPRoute, KindTLSRoute, KindTCPRoute}

// Granted is the language where a ref to another namespace needs a ReferenceGrant at Services
// too, as it does at Gateways (spec/gateway-api.md 1.5).
var Granted = func() route.Dialect {
	d := Dialect
	d.Read = func(o *api.Object, see route.Lister) *route.ParsedRoute { return read(o, see, true) }
	return d
}()

// HTTPRoute is the spec of an HTTPRoute.
type HTTPRoute gatewayv1.HTTPRouteSpec

// GRPCRoute is the spec of a GRPCRoute.
type GRPCRoute gatewayv1.GRPCRouteSpec

// ReferenceGrant is the spec of a ReferenceGrant.
type ReferenceGrant gatewayv1.ReferenceGrantSpec

// read says what one object means; strict says that all refs to other namespaces need a
// ReferenceGrant.
func read(o *api.Object, see route.Lister, strict bool) *route.ParsedRoute {
	switch spec := o.Spec.(type) {
	case *Gateway:
		return readGateway(o, see)
	case *GatewayClass:
		return readClass(o)
	case *HTTPRoute:
		x := reader{object: o, see: see, broken: 500, speaks: api.HTTP, strict: strict}
		return x.parsed(spec.ParentRefs, httpRules(spec))
	case *GRPCRoute:
		x := reader{object: o, see: see, broken: 503, speaks: api.GRPC, strict: strict} // of which Envoy makes UNAVAILABLE
		return x.parsed(spec.ParentRefs, grpcRules(spec))
	case *TLSRoute:
		x := reader{object: o, see: see, connections: true, strict: strict}
		return x.parsed(spec.ParentRefs, connectionRules(spec.Rules))
	case *TCPRoute:
		x := reader{object: o, see: see, connections: true, strict: strict}
		return x.parsed(spec.ParentRefs, connectionRules(spec.Rules))
	}
	panic(fmt.Sprintf("%s holds a %T", o.Ref, o.Spec))
}

// or is what a pointer points to, and without one the default.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
