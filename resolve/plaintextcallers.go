package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// codeStrictDestination is that of notes on both ends of calls that are refused: who calls has no
// identity, and who is called takes mutual TLS alone (spec/identity.md 3.3).
const codeStrictDestination = "StrictDestination"

// strangers are the calls of a mesh that are refused because who calls has no identity.
type strangers struct {
	calls   map[string][]string // ids of destinations, by objectKey of the caller
	callers map[string][]string // names of dataplanes, by objectKey of who is called
}

type strangersKey string

// strangersIn are those of a mesh, found out once for each model that is asked.
func (q *Reader) strangersIn(x mesh, name string) *strangers {
	return Known(q, strangersKey(name), func() *strangers {
		out := &strangers{map[string][]string{}, map[string][]string{}}
		strict := map[string][]string{} // who takes mutual TLS alone, by the id of a destination
		for o := range q.snapshot.Of(api.KindDataplane, name) {
			key := index.ObjectKey(o.Ref)
			if id := x.TLSOf(o.Ref).GetIdentity(); id != nil && id.Problem == "" && !x.InsightOf(o.Ref).Proxyless {
				continue
			}
			list, _ := x.Calls.Get(x.At, key)
			if list == nil {
				continue
			}
			for _, c := range list.List {
				if c.Dest == nil {
					continue
				}
				planes, known := strict[c.Dest.Key]
				if !known {
					planes = x.strictBehind(c.Dest)
					strict[c.Dest.Key] = planes
				}
				if len(planes) > 0 {
					out.calls[key] = append(out.calls[key], c.Dest.ID)
				}
				for _, p := range planes {
					if !slices.Contains(out.callers[p], o.FullName()) {
						out.callers[p] = append(out.callers[p], o.FullName())
					}
				}
			}
		}
		return out
	})
}

// strictBehind are those who answer for a destination and take mutual TLS alone, by objectKey.
func (m mesh) strictBehind(d *services.Destination) (out []string) {
	for _, e := range m.MembersOf(d).List {
		key := index.ObjectKey(e.Dataplane)
		if p, _ := m.Dataplanes.Get(m.At, key); p != nil && !slices.Contains(out, key) && !m.TLSOf(p.Object.Ref).At(p, e.Address, e.Port).TakesPlain() {
			out = append(out, key)
		}
	}
	return out
}

// strangerNotes are on both ends of such calls.
func (q *Reader) strangerNotes(x mesh, p *index.Dataplane) (notes []api.Note) {
	if !x.HasIdentities() {
		return nil
	}
	found, key := q.strangersIn(x, p.Object.Mesh), index.ObjectKey(p.Object.Ref)
	if ids := found.calls[key]; len(ids) > 0 {
		why, mend := "it has no identity", "let a MeshIdentity select it"
		if x.InsightOf(p.Object.Ref).Proxyless {
			why, mend = "its gRPC client has no sidecar and calls in plain text", "give it a sidecar"
		}
		notes = append(notes, api.Notef(p.Origin(), api.Error, codeStrictDestination, "", "%s, and its calls of %s are refused, which take mutual TLS alone; %s, or let a MeshTLS of mode Permissive be about who it calls", why, services.SomeNames(ids), mend))
	}
	if names := found.callers[key]; len(names) > 0 {
		notes = append(notes, api.Notef(p.Origin(), api.Error, codeStrictDestination, "", "it takes mutual TLS alone, and refuses callers that have no identity, or no sidecar: %s; let a MeshIdentity select them, give them sidecars, or let a MeshTLS of mode Permissive be about it", services.SomeNames(names)))
	}
	return notes
}
