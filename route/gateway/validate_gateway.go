package gateway

import (
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

const maxListeners = 64

// Validate checks a Gateway as its published schema does, but for words that a later
// version may know.
func (g *Gateway) Validate(at api.Path) error {
	var c checker
	c.given(at.Field("gatewayClassName"), string(g.GatewayClassName))
	list := at.Field("listeners")
	c.long(list, len(g.Listeners), maxListeners)
	if len(g.Listeners) == 0 {
		c.add(list.Breaks("is empty, so nobody listens; write a listener with name, port and protocol"))
	}
	var names []gatewayv1.SectionName
	for i := range g.Listeners {
		l, here := &g.Listeners[i], list.Index(i)
		switch {
		case !sectionName.MatchString(string(l.Name)):
			c.add(here.Field("name").Breaks("%q is not a valid name; use lower-case letters, digits, - and dots, at most 253", redact.Clip(string(l.Name))))
		case slices.Contains(names, l.Name):
			c.add(here.Field("name").Breaks("%q is the name of another listener; give each its own", l.Name))
		}
		names = append(names, l.Name)
		c.port(here.Field("port"), &l.Port)
		c.given(here.Field("protocol"), string(l.Protocol))
		c.listenerHost(here.Field("hostname"), l)
		c.listenerTLS(here.Field("tls"), l)
		c.allowed(here.Field("allowedRoutes"), l.AllowedRoutes)
	}
	return c.errs.ErrorOrNil()
}

func (c *checker) listenerHost(at api.Path, l *gatewayv1.Listener) {
	switch name := string(or(l.Hostname, "")); {
	case name == "":
	case l.Protocol == gatewayv1.TCPProtocolType || l.Protocol == gatewayv1.UDPProtocolType:
		c.add(at.Breaks("%s knows no hosts; remove it", l.Protocol))
	default:
		c.add(api.ValidateHostname(at, strings.TrimPrefix(name, "*.")))
	}
}

func (c *checker) listenerTLS(at api.Path, l *gatewayv1.Listener) {
	switch secured := l.Protocol == gatewayv1.HTTPSProtocolType || l.Protocol == gatewayv1.TLSProtocolType; {
	case l.TLS == nil && secured:
		c.add(at.Breaks("is missing for %s; write certificateRefs, or protocol HTTP", l.Protocol))
	case l.TLS != nil && (l.Protocol == gatewayv1.HTTPProtocolType || l.Protocol == gatewayv1.TCPProtocolType || l.Protocol == gatewayv1.UDPProtocolType):
		c.add(at.Breaks("%s is not encrypted; remove it, or write protocol HTTPS", l.Protocol))
	case l.TLS != nil && l.Protocol == gatewayv1.HTTPSProtocolType && or(l.TLS.Mode, gatewayv1.TLSModeTerminate) != gatewayv1.TLSModeTerminate:
		c.add(at.Field("mode").Breaks("requests of HTTPS are read here, so the mode is Terminate; write protocol TLS to pass it through"))
	}
}

// maxKinds is how many kinds of routes a listener may name.
const maxKinds = 8

func (c *checker) allowed(at api.Path, a *gatewayv1.AllowedRoutes) {
	if a == nil {
		return
	}
	c.long(at.Field("kinds"), len(a.Kinds), maxKinds)
	for i, k := range a.Kinds {
		c.given(at.Field("kinds").Index(i).Field("kind"), string(k.Kind))
	}
	if a.Namespaces == nil {
		return
	}
	here := at.Field("namespaces")
	from := string(or(a.Namespaces.From, gatewayv1.NamespacesFromSame))
	if !slices.Contains([]string{"All", "Same", "Selector"}, from) {
		c.add(here.Field("from").OneOf(from, "All", "Same", "Selector"))
	}
	if from == "Selector" && a.Namespaces.Selector == nil {
		c.add(here.Field("selector").Breaks("is missing; write which labels namespaces have, or from: All"))
	}
	if a.Namespaces.Selector == nil {
		return
	}
	for i, e := range a.Namespaces.Selector.MatchExpressions {
		place := here.Field("selector").Field("matchExpressions").Index(i)
		c.given(place.Field("key"), e.Key)
		switch operator := string(e.Operator); {
		case operators[operator] == nil:
			c.add(place.Field("operator").OneOf(operator, "In", "NotIn", "Exists", "DoesNotExist"))
		case strings.HasSuffix(operator, "In") != (len(e.Values) > 0):
			c.add(place.Field("values").Breaks("In and NotIn compare with values, the others with none; write them so"))
		}
	}
}

// Validate checks a GatewayClass.
func (g *GatewayClass) Validate(at api.Path) error {
	var c checker
	c.given(at.Field("controllerName"), string(g.ControllerName))
	return c.errs.ErrorOrNil()
}
