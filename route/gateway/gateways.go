package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// Gateway is the spec of a Gateway.
type Gateway gatewayv1.GatewaySpec

// GatewayClass is the spec of a GatewayClass.
type GatewayClass gatewayv1.GatewayClassSpec

const (
	// ownClass is the class that is weft's without a document.
	ownClass = "weft"
	// gatewayLabel names, on an edge dataplane, the Gateway of its namespace that it
	// serves.
	gatewayLabel = "gateway.networking.k8s.io/gateway-name"
)

// The reasons of the conditions of Gateways and classes.
const (
	listenersNotValid = "ListenersNotValid"
	invalidParameters = "InvalidParameters"
	unmanagedClass    = "UnmanagedClass"
)

// edgesOf are the edge dataplanes that serve a Gateway.
func edgesOf(g *api.Object) api.Edges {
	return api.Edges{Namespace: g.HomeNamespace(), Label: gatewayLabel, Value: g.Name}
}

// foreign says why a Gateway is not weft's; empty where it is.
func foreign(g *api.Object, see route.Lister) string {
	name := string(g.Spec.(*Gateway).GatewayClassName)
	class, ok := see.Object(api.Ref{Kind: KindGatewayClass, Mesh: g.Mesh, Name: name})
	switch {
	case !ok && name == ownClass:
		return ""
	case !ok:
		return fmt.Sprintf("is of class %s, of which there is no GatewayClass", redact.Clip(name))
	}
	return foreignClass(class.Spec.(*GatewayClass))
}

// foreignClass says why the Gateways of a class are not weft's.
func foreignClass(c *GatewayClass) string {
	switch {
	case c.ControllerName != Controller:
		return fmt.Sprintf("is of a class of controller %s, and weft is %s", redact.Clip(string(c.ControllerName)), Controller)
	case c.ParametersRef != nil:
		return "is of a class with parametersRef, and weft knows no parameters"
	}
	return ""
}

// rejected is why a Gateway is not served as a whole; nil where it is.
func rejected(spec *Gateway) *finding {
	if spec.Infrastructure != nil && spec.Infrastructure.ParametersRef != nil {
		return &finding{invalidParameters, "weft knows no parameters of Gateways; remove infrastructure.parametersRef"}
	}
	return nil
}

// readGateway says where the edge dataplanes of a Gateway listen.
func readGateway(o *api.Object, see route.Lister) *route.ParsedRoute {
	spec := o.Spec.(*Gateway)
	x := reader{object: o}
	out := &route.ParsedRoute{Object: o, Top: api.TargetRef{Kind: api.KindMesh}}
	whole := &api.Origin{Ref: o.Ref}
	if why := foreign(o, see); why != "" {
		x.note(whole, api.Warning, unmanagedClass, "spec.gatewayClassName", "the Gateway %s, so it is not served; write %s for weft's own", why, ownClass)
		out.Notes = x.notes
		return out
	}
	out.Edges = edgesOf(o)
	if why := rejected(spec); why != nil {
		x.note(whole, api.Error, why.reason, "spec.infrastructure.parametersRef", "%s", why.message)
		out.Notes = x.notes
		return out
	}
	x.untuned(spec, whole)
	list := listenersOf(spec)
	certify(o, see, list)
	before, open := len(x.notes), false
	for i := range list {
		l := &list[i]
		for _, f := range l.wrong() {
			x.note(&api.Origin{Ref: o.Ref, Field: l.at}, api.Warning, listenersNotValid, l.at, "%s: %s", f.reason, f.message)
		}
		if l.served() {
			out.Listeners = append(out.Listeners, l.edge())
			open = open || !l.closed
		}
		if l.TLS != nil && len(l.TLS.Options) > 0 {
			x.note(whole, api.Warning, api.CodeUnsupported, l.at.Field("tls").Field("options"), "weft knows no options of TLS, so they have no effect; remove them")
		}
	}
	if !open {
		for i := range x.notes[before:] {
			x.notes[before+i].Severity = api.Error
		}
	}
	out.Notes = x.notes
	return out
}

// untuned warns of what weft does not do for a Gateway.
func (x *reader) untuned(spec *Gateway, o *api.Origin) {
	for _, f := range []struct {
		field   api.Path
		written bool
		why     string
	}{
		{"spec.addresses", len(spec.Addresses) > 0, "weft assigns no addresses: the Gateway has those of the edge dataplanes that carry its name; remove them"},
		{"spec.infrastructure", spec.Infrastructure != nil, "weft makes no pods for a Gateway, so there is nothing to label; write it in your edge workload"},
		{"spec.allowedListeners", spec.AllowedListeners != nil, "weft reads no ListenerSets; write all listeners in the Gateway"},
		{"spec.tls.backend", spec.TLS != nil && spec.TLS.Backend != nil, "weft shows no certificate of the Gateway to backends; remove it"},
		{"spec.defaultScope", spec.DefaultScope != "", "weft has no default Gateways; name the Gateway in the routes"},
	} {
		if f.written {
			x.note(o, api.Warning, api.CodeUnsupported, f.field, "%s", f.why)
		}
	}
}

// readClass says whose a class is.
func readClass(o *api.Object) *route.ParsedRoute {
	out := &route.ParsedRoute{Object: o, Top: api.TargetRef{Kind: api.KindMesh}}
	x := reader{object: o}
	switch spec := o.Spec.(*GatewayClass); {
	case spec.ControllerName != Controller:
		x.note(&api.Origin{Ref: o.Ref}, api.Info, unmanagedClass, "spec.controllerName", "the class is not weft's, which is %s", Controller)
	case spec.ParametersRef != nil:
		x.note(&api.Origin{Ref: o.Ref}, api.Error, invalidParameters, "spec.parametersRef", "weft knows no parameters of classes, so Gateways of the class are not served; remove it")
	}
	out.Notes = x.notes
	return out
}
