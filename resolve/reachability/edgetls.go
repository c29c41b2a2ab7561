package reachability

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// edgeTLSPort is the port at which hosts say what clients get who speak TLS, with a
// certificate of the host's own.
const edgeTLSPort = 443

// AtPort are the listeners at a port where clients speak TLS.
func AtPort(list []route.Listener, port uint32) []route.Listener {
	return slices.DeleteFunc(slices.Clone(list), func(l route.Listener) bool { return l.Port != port || l.TLS == nil })
}

// shut reports whether the listener at a port that has a host, the nearest by name, is
// closed.
func shut(list []route.Listener, port uint32, host string) bool {
	l := listenerOf(list, port, host)
	return l != nil && l.Closed
}

// requestsAt reports whether the nearest listener of a host at a port looks for requests, or
// there is none.
func requestsAt(list []route.Listener, port uint32, host string) bool {
	l := listenerOf(list, port, host)
	return l == nil || !l.Closed && !l.Connections
}

// listenerOf is the listener at a port that has a host, the nearest by name; nil for none.
func listenerOf(list []route.Listener, port uint32, host string) *route.Listener {
	var found *route.Listener
	for i := range list {
		l := &list[i]
		if l.Port == port && l.Covers(host) && (found == nil || effective.Nearer(l.Hostname, found.Hostname)) {
			found = l
		}
	}
	return found
}

// EdgeTLSCalls yields the hosts of a scope for everybody that a listener serves to clients who speak
// TLS: those with a certificate of their own, and where the listener has one all others.
func (m Mesh) EdgeTLSCalls(list []route.Listener, l *route.Listener, scope string, serve func(*services.Destination)) {
	own := map[string]bool{}
	for d := range m.HostsSeen(edgeTLSPort, scope) {
		if d.TLS == nil || m.isForEdges(d) {
			continue
		}
		own[d.Name] = true
		if l.Covers(d.Name) && !l.Closed && requestsAt(list, l.Port, d.Name) {
			serve(d)
		}
	}
	if l.Closed || len(l.TLS.Secrets) == 0 {
		return
	}
	for d := range m.HostsSeen(plainHTTP, scope) {
		if l.Covers(d.Name) && !own[d.Name] && !m.isForEdges(d) && requestsAt(list, l.Port, d.Name) {
			serve(d)
		}
	}
}

// ownListeners are those that an edge dataplane names itself.
func (m Mesh) ownListeners(p *index.Dataplane) []route.Listener {
	var out []route.Listener
	for i := range p.Spec.Networking.Gateway.Listeners {
		l := &p.Spec.Networking.Gateway.Listeners[i]
		x := route.Listener{Port: l.Port, Hostname: l.Hostname}
		if l.SpeaksTLS() {
			x.TLS = &route.ServerTLS{}
		}
		if l.SpeaksTLS() && l.TLS != nil {
			ref := p.Secret(l)
			x.TLS.Secrets = []api.Ref{ref}
			x.Closed = m.Certificate(ref) == nil
		}
		out = append(out, x)
	}
	return out
}
