package conditions

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/index"
)

// collectorNotes say of a policy which of the collectors that it names get nothing, and why.
func collectorNotes(x Mesh, p *index.Policy) []api.Note {
	spec := p.Object.Spec.(*policies.Spec)
	if !spec.Kind.NamesCollectors() {
		return nil
	}
	var notes []api.Note
	for at, ref := range spec.CollectorRefs {
		o := x.Collector(ref)
		if o == nil {
			notes = append(notes, api.Notef(&api.Origin{Ref: p.Object.Ref}, api.Warning, "BackendNotFound", at,
				"there is no %s, so nothing is sent to it; name one that there is", index.CollectorText(ref)))
			continue
		}
		if backend, ok := o.Spec.(*api.MeshOpenTelemetryBackend); ok && index.Unreached(backend) != "" {
			notes = append(notes, api.Notef(&api.Origin{Ref: p.Object.Ref}, api.Warning, api.CodeUnsupported, at,
				"nothing is sent to %s: %s", o.Ref, index.Unreached(backend)))
		}
	}
	return notes
}
