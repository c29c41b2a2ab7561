package gateway

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// assumed is the Gateway of a route that names no parent.
const assumed = "gateway"

// assume makes what the parentRefs of a route lead to where it is elsewhere: a Service
// with the port, a Gateway of weft's with a listener that takes the route. A route
// without a parent but with hosts is assumed to have one.
func assume(o *api.Object, see route.Lister) (as *api.Object, beside []*api.Object) {
	refs := parentRefs(o)
	if spec, ok := o.Spec.(*HTTPRoute); ok && len(refs) == 0 && len(spec.Hostnames) > 0 {
		with, copied := *spec, *o
		with.ParentRefs = []gatewayv1.ParentReference{{Name: assumed}}
		copied.Spec, refs = &with, with.ParentRefs
		o = &copied
	}
	for i := range refs {
		ref := &refs[i]
		switch {
		case isService(ref):
			to := api.Ref{Kind: api.KindService, Mesh: o.Mesh, Namespace: string(or(ref.Namespace, gatewayv1.Namespace(o.HomeNamespace()))), Name: string(ref.Name)}
			if _, there := see.Object(to); !there && ref.Port != nil {
				beside = append(beside, &api.Object{Ref: to, Spec: &api.Service{Ports: []api.KubernetesPort{{Name: string(or(ref.SectionName, "")), Port: uint32(*ref.Port)}}}})
			} else if !there && ref.SectionName == nil {
				beside = append(beside, &api.Object{Ref: to, Spec: &api.Service{}})
			}
		case isGateway(ref):
			beside = append(beside, gatewayFor(ref, o, see))
		}
	}
	return o, beside
}

// gatewayFor is the Gateway that the ref means, as one that weft serves.
func gatewayFor(ref *gatewayv1.ParentReference, o *api.Object, see route.Lister) *api.Object {
	to := gatewayOf(ref, o)
	out := api.Object{Ref: to}
	spec := Gateway{GatewayClassName: ownClass}
	if g, there := see.Object(to); there {
		out, spec = *g, *g.Spec.(*Gateway)
		spec.GatewayClassName = ownClass
	} else {
		l := gatewayv1.Listener{Name: or(ref.SectionName, "http"), Port: or(ref.Port, 80), Protocol: gatewayv1.HTTPProtocolType,
			AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: new(gatewayv1.NamespacesFromAll)}}}
		if l.Port == 443 {
			l.Protocol = gatewayv1.HTTPSProtocolType
		}
		switch o.Kind {
		case KindTCPRoute:
			l.Protocol = gatewayv1.TCPProtocolType
		case KindTLSRoute:
			l.Protocol, l.TLS = gatewayv1.TLSProtocolType, &gatewayv1.ListenerTLSConfig{Mode: new(gatewayv1.TLSModePassthrough)}
		}
		spec.Listeners = []gatewayv1.Listener{l}
	}
	out.Spec = &spec
	return &out
}
