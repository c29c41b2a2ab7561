package notes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/impact"
)

// idleNotes are the fields of an object that have an effect nowhere. Items for
// the whole mesh are left out: they are for every protocol, of which a mesh need
// not have all.
func idleNotes(q *resolve.Reader, x *impact.Impact) []api.Note {
	if !slices.ContainsFunc(x.Entries, func(e *impact.EntryEffect) bool { return len(e.IdleFields()) > 0 }) {
		return nil
	}
	o, ok := q.Snapshot().Get(x.Ref)
	if !ok {
		return nil
	}
	spec, ok := o.Spec.(*policies.Spec)
	if !ok {
		return nil
	}
	var notes []api.Note
	for _, e := range x.Entries {
		if idle := e.IdleFields(); len(idle) > 0 && !forAll(spec, e.Field) {
			var paths []string
			for _, n := range idle {
				paths = append(paths, spec.Kind.Schema.Leaves[n].Path)
			}
			notes = append(notes, api.Note{Origin: &api.Origin{Ref: x.Ref, Field: e.Field}, Severity: api.Warning, Code: api.CodeNoEffect, Field: policies.PartOf(e.Field, "default"),
				Message: fmt.Sprintf("%s has no effect: %s; remove it, or target what it can act on", strings.Join(paths, ", "), e.Why)})
		}
	}
	return notes
}

// forAll reports whether an entry is for all that a whole mesh speaks.
func forAll(spec *policies.Spec, field api.Path) bool {
	for i := range spec.To {
		if field == api.Path("spec.to").Index(i) {
			return spec.To[i].TargetRef.Kind == api.KindMesh && !spec.Top().IsRoute()
		}
	}
	return spec.Top().Kind == api.KindMesh && !spec.Kind.OfDataplanes
}
