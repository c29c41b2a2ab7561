package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// The reasons of the conditions of a listener.
const (
	unsupportedProtocol = "UnsupportedProtocol"
	protocolConflict    = "ProtocolConflict"
	hostnameConflict    = "HostnameConflict"
	invalidRouteKinds   = "InvalidRouteKinds"
)

// finding is what is wrong with something: a reason of the Gateway API, and a message.
type finding struct{ reason, message string }

// listener is one of a Gateway, and what keeps it from being served.
type listener struct {
	*gatewayv1.Listener
	at       api.Path
	hostname string   // api.AnyHost for all
	kinds    []string // of the routes that it takes
	// Each is nil where nothing is wrong.
	unaccepted, conflicted, unresolved *finding
	// What certify finds of a listener for HTTPS: its certificates, or that nobody is let
	// in.
	secrets []api.Ref
	closed  bool
}

// served reports whether the listener is there. Routes attach to one that is closed too,
// for its certificate may come.
func (l *listener) served() bool { return l.unaccepted == nil && l.conflicted == nil }

// secure reports whether clients speak TLS to the listener.
func (l *listener) secure() bool {
	return l.Protocol == gatewayv1.HTTPSProtocolType || l.Protocol == gatewayv1.TLSProtocolType
}

// terminates reports whether the listener speaks TLS itself, and does not pass it on.
func (l *listener) terminates() bool {
	return l.secure() && (l.TLS == nil || or(l.TLS.Mode, gatewayv1.TLSModeTerminate) == gatewayv1.TLSModeTerminate)
}

// connections reports whether nobody looks for requests at the listener.
func (l *listener) connections() bool {
	return l.Protocol == gatewayv1.TCPProtocolType || l.Protocol == gatewayv1.TLSProtocolType
}

// wrong is everything that is wrong with the listener.
func (l *listener) wrong() []*finding {
	return slices.DeleteFunc([]*finding{l.unaccepted, l.conflicted, l.unresolved}, func(f *finding) bool { return f == nil })
}

// listenersOf are those of a Gateway, in their order.
func listenersOf(spec *Gateway) []listener {
	out := make([]listener, len(spec.Listeners))
	for i := range spec.Listeners {
		l := &out[i]
		l.Listener, l.at = &spec.Listeners[i], api.Path("spec.listeners").Index(i)
		l.hostname = cmp.Or(string(or(l.Hostname, "")), api.AnyHost)
		l.speaks()
		l.takes()
	}
	for i := range out {
		for j := range out {
			if i != j && out[i].conflicted == nil {
				out[i].conflicted = out[i].conflict(&out[j])
			}
		}
	}
	return out
}

// routesOf are the kinds of routes of a protocol that weft reads.
var routesOf = map[gatewayv1.ProtocolType][]string{
	gatewayv1.HTTPProtocolType: {KindHTTPRoute, KindGRPCRoute}, gatewayv1.HTTPSProtocolType: {KindHTTPRoute, KindGRPCRoute},
	gatewayv1.TLSProtocolType: {KindTLSRoute}, gatewayv1.TCPProtocolType: {KindTCPRoute},
}

// family is which protocols may stand beside each other at a port: they are told apart by
// the host that is asked for, in the same way.
var family = map[gatewayv1.ProtocolType]string{gatewayv1.HTTPProtocolType: "http", gatewayv1.HTTPSProtocolType: "tls", gatewayv1.TLSProtocolType: "tls", gatewayv1.TCPProtocolType: "tcp"}

// speaks finds whether weft serves the protocol.
func (l *listener) speaks() {
	_, known := family[l.Protocol]
	switch {
	case l.Protocol == gatewayv1.UDPProtocolType:
		l.unaccepted = &finding{unsupportedProtocol, fmt.Sprintf("weft serves no UDP, so nobody listens at port %d; write HTTP, HTTPS, TLS or TCP", l.Port)}
	case !known:
		l.unaccepted = &finding{unsupportedProtocol, fmt.Sprintf("weft does not know protocol %s; write HTTP, HTTPS, TLS or TCP", redact.Clip(string(l.Protocol)))}
	case l.secure() && !l.terminates() && *l.TLS.Mode != gatewayv1.TLSModePassthrough:
		l.unaccepted = &finding{unsupportedValue, fmt.Sprintf("weft does not know mode %s of TLS, so nobody is let in; write Terminate or Passthrough", redact.Clip(string(*l.TLS.Mode)))}
	}
}

// takes finds the kinds of routes that the listener takes.
func (l *listener) takes() {
	known := routesOf[l.Protocol]
	if l.AllowedRoutes == nil || len(l.AllowedRoutes.Kinds) == 0 {
		l.kinds = known
		return
	}
	for _, k := range l.AllowedRoutes.Kinds {
		switch kind := string(k.Kind); {
		case or(k.Group, group) == group && slices.Contains(known, kind):
			if !slices.Contains(l.kinds, kind) {
				l.kinds = append(l.kinds, kind)
			}
		case l.unresolved == nil:
			l.unresolved = &finding{invalidRouteKinds, fmt.Sprintf("a listener for %s takes no routes of kind %s in group %q; it takes %s", l.Protocol, redact.Clip(kind), redact.Clip(string(or(k.Group, group))), wordList(known))}
		}
	}
}

// conflict is why both cannot listen.
func (l *listener) conflict(other *listener) *finding {
	switch {
	case l.Port != other.Port || (l.Protocol == gatewayv1.UDPProtocolType) != (other.Protocol == gatewayv1.UDPProtocolType):
		return nil
	case family[l.Protocol] != family[other.Protocol]:
		return &finding{protocolConflict, fmt.Sprintf("listener %s speaks %s at port %d too; give it another port", other.Name, other.Protocol, l.Port)}
	case l.Protocol == gatewayv1.TCPProtocolType:
		return &finding{protocolConflict, fmt.Sprintf("listener %s has the connections to port %d too; give it another port", other.Name, l.Port)}
	case l.hostname == other.hostname:
		return &finding{hostnameConflict, fmt.Sprintf("listener %s has these hosts at port %d too; give it another hostname or port", other.Name, l.Port)}
	}
	return nil
}

func wordList(words []string) string {
	if len(words) == 0 {
		return "none that weft serves"
	}
	return strings.Join(words, ", ")
}

// meet is what two hostnames both stand for; empty for nothing.
func meet(a, b string) string {
	switch {
	case api.HostCovers(a, b):
		return b
	case api.HostCovers(b, a):
		return a
	}
	return ""
}

// beside are the hostnames of the other listeners that are served at the port of l and
// stand for a part of what l stands for: that part is theirs.
func (l *listener) beside(list []listener) []string {
	var out []string
	for i := range list {
		if o := &list[i]; o.Name != l.Name && o.Port == l.Port && o.served() && o.hostname != l.hostname && api.HostCovers(l.hostname, o.hostname) {
			out = append(out, o.hostname)
		}
	}
	slices.Sort(out)
	return out
}
