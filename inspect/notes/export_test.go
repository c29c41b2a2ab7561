package notes

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// AllAnew is what Notes says, by looking at every dataplane, and at every object wherever it is
// attached.
func AllAnew(m *resolve.Reader) []api.Note {
	var all Collector
	for n := range m.AllNoted() {
		all.Add(n)
	}
	look := LookAt(m)
	for r := range m.Dataplanes("") {
		all.Add(look.At(r)...)
	}
	for mesh := range m.MeshNames() {
		var refs []api.Ref
		for o := range m.Attachable(mesh) {
			refs = append(refs, o.Ref)
		}
		all.Add(boundsBetween(m.Model.Reader(nil), mesh)...)
		reaches := m.ImpactOf(mesh, refs, nil)
		for _, x := range reaches {
			all.Add(useless(m, x)...)
		}
		for _, x := range reaches {
			all.Add(idleNotes(m, x)...)
		}
	}
	all.Add(Failures(m)...)
	slices.SortStableFunc(all.Notes, func(a, b api.Note) int { return owner(a).Compare(owner(b)) })
	return all.Notes
}
