package resolve

import (
	"github.com/weftmesh/weft/api"
)

// Who answers for a service is whom its selector finds by tags, labels or name. A sidecar that brings
// its Dataplane along writes these itself: where inbounds take mutual TLS alone it answers only for what
// its token binds, else it would take the requests that others are sent, with all that callers put into
// them, by a certificate that proves another name (spec/identity.md 2.5).

// LeftOut are the dataplanes of a mesh to which nobody is led by a destination for which they say that
// they answer, with the ids of these destinations.
func (m *Model) LeftOut(mesh string) map[api.Ref][]string {
	x, ok := m.mesh(mesh)
	if !ok {
		return nil
	}
	out := map[api.Ref][]string{}
	for id, behind := range x.Members.All(x.At) {
		for _, l := range behind.Left {
			out[l.Dataplane] = append(out[l.Dataplane], id)
		}
	}
	return out
}
