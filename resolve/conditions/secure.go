package conditions

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// mostKept is how many hosts with a certificate that it does not show an edge dataplane is told of.
const mostKept = 20

// keptCertificates are the notes on hosts that an edge dataplane would serve by their own
// certificates, which are of other namespaces.
func keptCertificates(x Mesh, p *index.Dataplane) []api.Note {
	var notes []api.Note
	list, home, origin := x.Listening(p), p.Facts.Namespace, p.Origin()
	for i := range list {
		l := &list[i]
		if l.TLS == nil || l.Connections {
			continue
		}
		x.SecureCalls(list, l, x.HostScope(p), func(d *services.Destination) {
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
func listenerNotes(x Mesh, p *index.Dataplane) []api.Note {
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
