package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// The reasons why a route does not attach to a listener.
const (
	notAllowed = "NotAllowedByListeners"
	noHostname = "NoMatchingListenerHostname"
)

// attached is a listener with the hosts that a route has there.
type attached struct {
	*listener
	hosts []named
}

// named is a host that a route has at a listener, and the nearest of its own hostnames that
// stands for it; empty where the route names none.
type named struct{ host, own string }

// attach finds the listeners of a Gateway to which a ref of the route o attaches; where
// there is none it says why.
func attach(see route.Lister, g *api.Object, list []listener, o *api.Object, ref *gatewayv1.ParentReference) ([]attached, *finding) {
	var out []attached
	var last *finding
	for i := range list {
		l := &list[i]
		if or(ref.SectionName, l.Name) != l.Name || or(ref.Port, l.Port) != l.Port {
			continue
		}
		why := l.refuses(see, g, o)
		if why == nil {
			var hosts []named
			if hosts, why = l.hostsOf(o); why == nil {
				out = append(out, attached{l, hosts})
				continue
			}
		}
		if last == nil || last.reason == notAllowed { // who is nearer to attaching says more
			last = why
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case last == nil:
		return nil, &finding{noMatchingParent, "Gateway " + g.FullName() + " has no listener " + wanted(portText(ref.Port), string(or(ref.SectionName, ""))) + "; name one that it has"}
	}
	return nil, last
}

// refuses says why the listener takes no routes such as o; nil where it does.
func (l *listener) refuses(see route.Lister, g, o *api.Object) *finding {
	if !slices.Contains(l.kinds, o.Kind) {
		return &finding{notAllowed, fmt.Sprintf("listener %s takes no routes of kind %s; it takes %s", l.Name, o.Kind, wordList(l.kinds))}
	}
	in := gatewayv1.RouteNamespaces{}
	if l.AllowedRoutes != nil {
		in = or(l.AllowedRoutes.Namespaces, in)
	}
	from := or(in.From, gatewayv1.NamespacesFromSame)
	home, ok := o.HomeNamespace(), false
	switch from {
	case gatewayv1.NamespacesFromAll:
		ok = true
	case gatewayv1.NamespacesFromSame:
		ok = home == g.HomeNamespace()
	case gatewayv1.NamespacesFromSelector:
		ok = selects(&in, see, o.Mesh, home)
	}
	if !ok {
		return &finding{notAllowed, fmt.Sprintf("listener %s takes no routes from namespace %s (allowedRoutes.namespaces.from: %s); allow them there, or move the route", l.Name, home, redact.Clip(string(from)))}
	}
	return nil
}

// selects reports whether the selector selects a namespace by its labels. Every namespace
// carries its own name.
func selects(by *gatewayv1.RouteNamespaces, see route.Lister, mesh, namespace string) bool {
	have := map[string]string{}
	if o, ok := see.Object(api.Ref{Kind: api.KindNamespace, Mesh: mesh, Name: namespace}); ok {
		maps.Copy(have, o.Labels)
	}
	have["kubernetes.io/metadata.name"] = namespace
	if by.Selector == nil {
		return false
	}
	for k, v := range by.Selector.MatchLabels {
		if got, ok := have[k]; !ok || got != v {
			return false
		}
	}
	for _, e := range by.Selector.MatchExpressions {
		value, ok := have[e.Key]
		if compare := operators[string(e.Operator)]; compare == nil || !compare(ok, slices.Contains(e.Values, value)) {
			return false
		}
	}
	return true
}

// operators are those of selectors: whether there is the label, and its value is one of
// those written.
var operators = map[string]func(there, among bool) bool{
	"In":           func(there, among bool) bool { return there && among },
	"NotIn":        func(there, among bool) bool { return !there || !among },
	"Exists":       func(there, _ bool) bool { return there },
	"DoesNotExist": func(there, _ bool) bool { return !there },
}

// hostsOf are the hosts that a route has at the listener.
func (l *listener) hostsOf(o *api.Object) ([]named, *finding) {
	names := hostnames(o)
	if len(names) == 0 {
		return []named{{host: l.hostname}}, nil
	}
	var out []named
	for _, n := range names {
		x := named{meet(l.hostname, string(n)), string(n)}
		if x.host == "" {
			continue
		}
		i := slices.IndexFunc(out, func(y named) bool { return y.host == x.host })
		if i < 0 {
			out = append(out, x)
		} else if nearestFirst(x.own, out[i].own) < 0 {
			out[i] = x
		}
	}
	if len(out) == 0 {
		return nil, &finding{noHostname, fmt.Sprintf("listener %s has %s, and none of spec.hostnames is among that; change one of them", l.Name, l.hostname)}
	}
	return out, nil
}

// hostnames are those of a route.
func hostnames(o *api.Object) []gatewayv1.Hostname {
	switch spec := o.Spec.(type) {
	case *HTTPRoute:
		return spec.Hostnames
	case *GRPCRoute:
		return spec.Hostnames
	case *TLSRoute:
		return spec.Hostnames
	}
	return nil
}

// atGateway makes an entry of each host that the route has at a Gateway.
func (x *reader) atGateway(ref *gatewayv1.ParentReference, at api.Path, o *api.Origin, rules []route.Rule) []route.Entry {
	to := gatewayOf(ref, x.object)
	g, ok := x.see.Object(to)
	if !ok {
		x.note(o, api.Warning, noMatchingParent, at, "there is no Gateway %s; create it, or name one that exists", to.FullName())
		return nil
	}
	if why := foreign(g, x.see); why != "" {
		x.note(o, api.Warning, unmanaged, at, "Gateway %s %s, so the route is not served there", g.FullName(), why)
		return nil
	}
	list := listenersOf(g.Spec.(*Gateway))
	found, why := attach(x.see, g, list, x.object, ref)
	if bad := rejected(g.Spec.(*Gateway)); bad != nil {
		why = &finding{noMatchingParent, "Gateway " + g.FullName() + " is not accepted: " + bad.message}
	}
	if why != nil {
		x.note(o, api.Warning, why.reason, at, "%s", why.message)
		return nil
	}
	var out []route.Entry
	var closed, taken []string
	for _, a := range found {
		if !a.served() {
			closed = append(closed, fmt.Sprintf("listener %s is not served: %s", a.Name, a.wrong()[0].message))
			continue
		}
		own, others := a.entries(g, a.beside(list), rules)
		out, taken = append(out, own...), append(taken, others...)
	}
	switch {
	case len(out) > 0:
	case len(taken) > 0:
		x.note(o, api.Warning, api.CodeNoEffect, at, "requests to %s come to a listener with a nearer hostname, to which the ref does not attach; name that one", strings.Join(taken, ", "))
	default:
		x.note(o, api.Warning, noMatchingParent, at, "%s", strings.Join(closed, "; "))
	}
	return out
}

// entries has one for each host but those taken by the narrower listeners beside a.
func (a *attached) entries(g *api.Object, narrower []string, rules []route.Rule) (out []route.Entry, taken []string) {
	for _, x := range a.hosts {
		host := x.host
		if slices.ContainsFunc(narrower, func(n string) bool { return api.HostCovers(n, host) }) {
			taken = append(taken, host)
			continue
		}
		e := route.Entry{To: route.HostRef(host, uint32(a.Port)), Edges: edgesOf(g), Below: strings.HasPrefix(host, "*") && !a.connections(), Rules: rules, Payload: &stand{g, a.hostname, host, x.own, narrower}}
		if a.secure() {
			e.TLS = &route.ServerTLS{}
		}
		out = append(out, e)
	}
	return out, taken
}

// gatewayOf is the Gateway that a ref of o means.
func gatewayOf(ref *gatewayv1.ParentReference, o *api.Object) api.Ref {
	return api.Ref{Kind: KindGateway, Mesh: o.Mesh, Namespace: string(or(ref.Namespace, gatewayv1.Namespace(o.HomeNamespace()))), Name: string(ref.Name)}
}

// keys are the Gateways that a route names.
func keys(o *api.Object) []string {
	var out []string
	refs := parentRefs(o)
	for i := range refs {
		if isGateway(&refs[i]) {
			out = append(out, gatewayKey(gatewayOf(&refs[i], o)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func gatewayKey(g api.Ref) string { return "gateway " + g.FullName() }
