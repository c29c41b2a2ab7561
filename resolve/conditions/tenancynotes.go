package conditions

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/resolve/index"
)

// The codes of notes on what Mesh.tenancy keeps from acting.
const (
	CodeAnyClass = "IngressClassServed"
	// CodeNotOwned marks a host that acts in the namespace of its object alone.
	CodeNotOwned = "HostNotGranted"
)

// ownershipNotes are those on a route because of whose its hosts are, and of its ingress class.
func ownershipNotes(x Mesh, r *index.Route) []api.Note {
	var notes []api.Note
	origin := &api.Origin{Ref: r.Object.Ref}
	if class := index.ClassOf(&x.Dialects[r.Dialect], r.Object); class != "" && (r.Tenancy == nil || r.Tenancy.IngressClasses == nil) {
		notes = append(notes, api.Notef(origin, api.Warning, CodeAnyClass, "", "it is of ingress class %s and served all the same, for Mesh %s names no classes; if another controller serves it, name yours in tenancy.ingressClasses", redact.Clip(class), r.Object.Mesh))
	}
	notes = append(notes, unshownNotes(x, r)...)
	told := map[string]bool{}
	for i := range r.Parsed.Entries {
		e := &r.Parsed.Entries[i]
		home := r.Object.HomeNamespace()
		if e.To.Kind != api.KindHost || len(e.Rules) == 0 || told[e.To.Name] || !r.Owns(e.To.Name) {
			continue
		}
		told[e.To.Name] = true
		severity := api.Warning
		if e.Edges.Namespace == home {
			severity = api.Info // at its own Gateway, as it says
		}
		notes = append(notes, api.Notef(origin, severity, CodeNotOwned, e.Field, "%s is served to dataplanes of namespace %s alone, for no grant gives it the host elsewhere; add namespace %s and the host to tenancy.hosts.grants of Mesh %s",
			e.To.Name, home, home, r.Object.Mesh))
	}
	return notes
}

// unshownNotes are those on a route of which no edge dataplane may show the certificate, though there
// are some.
func unshownNotes(x Mesh, r *index.Route) []api.Note {
	var notes []api.Note
	for i := range r.Parsed.Entries {
		e := &r.Parsed.Entries[i]
		if e.To.Kind != api.KindHost || e.TLS == nil || r.Object.Shadow() {
			continue
		}
		for _, ref := range e.TLS.Secrets {
			at, shown := x.edgeNamespaces(ref)
			if shown || len(at) == 0 {
				continue
			}
			notes = append(notes, api.Notef(&api.Origin{Ref: r.Object.Ref}, api.Warning, index.CodeCertificateKept, e.Field, "no edge dataplane shows its certificate, Secret %s of namespace %s: those that there are run in %s and have no keys of others; name theirs in tenancy.edges of Mesh %s, or run an edge in namespace %s or a system namespace",
				ref.Name, ref.Namespace, strings.Join(at, ", "), r.Object.Mesh, ref.Namespace))
		}
	}
	return notes
}

// shownNamespaces is how many namespaces a message has.
const shownNamespaces = 3

// edgeNamespaces are some namespaces of edge dataplanes, none of which may show a certificate; shown
// where one may.
func (m Mesh) edgeNamespaces(secret api.Ref) (at []string, shown bool) {
	for p := range m.Carrying(index.LabelKey(index.OwnType, index.Gateway)) {
		if !p.Facts.Edge {
			continue
		}
		if m.MayShow(p, secret) {
			return nil, true
		}
		if len(at) < shownNamespaces && !slices.Contains(at, p.Facts.Namespace) {
			at = append(at, p.Facts.Namespace)
		}
	}
	slices.Sort(at)
	return at, false
}
