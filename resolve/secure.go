package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
)

// secureHTTP is the port at which hosts say what clients get who speak TLS, with a
// certificate of the host's own.
const secureHTTP = 443

// atPort are the listeners at a port where clients speak TLS.
func atPort(list []route.Listener, port uint32) []route.Listener {
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

// secureCalls yields the hosts of a scope for everybody that a listener serves to clients who speak
// TLS: those with a certificate of their own, and where the listener has one all others.
func (m reachabilityMesh) secureCalls(list []route.Listener, l *route.Listener, scope string, serve func(*services.Destination)) {
	own := map[string]bool{}
	for d := range m.HostsSeen(secureHTTP, scope) {
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
func (m reachabilityMesh) ownListeners(p *index.Dataplane) []route.Listener {
	var out []route.Listener
	for i := range p.Spec.Networking.Gateway.Listeners {
		l := &p.Spec.Networking.Gateway.Listeners[i]
		x := route.Listener{Port: l.Port, Hostname: l.Hostname}
		if l.Secure() {
			x.TLS = &route.ServerTLS{}
		}
		if l.Secure() && l.TLS != nil {
			ref := p.Secret(l)
			x.TLS.Secrets = []api.Ref{ref}
			x.Closed = m.Certificate(ref) == nil
		}
		out = append(out, x)
	}
	return out
}

// mostKept is how many hosts with a certificate that it does not show an edge dataplane is told of.
const mostKept = 20

// keptCertificates are the notes on hosts that an edge dataplane would serve by their own
// certificates, which are of other namespaces.
func keptCertificates(x mesh, p *index.Dataplane) []api.Note {
	var notes []api.Note
	list, home, origin := x.listening(p), p.Facts.Namespace, p.Origin()
	for i := range list {
		l := &list[i]
		if l.TLS == nil || l.Connections {
			continue
		}
		x.secureCalls(list, l, x.HostScope(p), func(d *services.Destination) {
			if x.MayServe(p, d) || len(notes) >= mostKept {
				return
			}
			i := slices.IndexFunc(d.TLS.Secrets, func(ref api.Ref) bool { return !x.MayShow(p, ref) })
			ref := d.TLS.Secrets[i]
			n := api.Notef(origin, api.Warning, index.CodeCertificateKept, "", "%s is not served here: its certificate is Secret %s of namespace %s, and edge dataplanes of namespace %s have no keys of others; add %s to tenancy.edges of Mesh %s if they may, or run the edge in namespace %s or a system namespace",
				d.Name, ref.Name, ref.Namespace, home, home, p.Object.Mesh, ref.Namespace)
			if !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		})
	}
	return notes
}

// listenerNotes are those on the listeners that an edge dataplane names itself.
func listenerNotes(x mesh, p *index.Dataplane) []api.Note {
	net := p.Spec.Networking
	if !net.Edge() {
		return nil
	}
	notes := append(noListeners(x, p), keptCertificates(x, p)...)
	for i := range net.Gateway.Listeners {
		l := &net.Gateway.Listeners[i]
		if l.TLS == nil || x.Certificate(p.Secret(l)) != nil {
			continue
		}
		at := api.Path("networking.gateway.listeners").Index(i).Field("tls").Field("secret")
		ref := p.Secret(l)
		o, _ := x.OtherObjects.Get(x.At, index.ObjectKey(ref))
		why := api.CertificateProblem(ref, o, x.Zone)
		notes = append(notes, api.Notef(&api.Origin{Ref: p.Object.Ref, Field: at}, api.Error, "InvalidCertificateRef", at, "%s; until then nobody is let in at port %d for these hosts", why, l.Port))
	}
	return notes
}
