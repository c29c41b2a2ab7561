package inspect

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// NotesAnew is what Notes says, by looking at every dataplane, and at every object wherever it is
// attached.
func NotesAnew(m *resolve.Reader) []api.Note {
	var all noteSet
	for n := range m.AllNoted() {
		all.add(n)
	}
	look := lookAt(m)
	for r := range m.Dataplanes("") {
		all.add(look.at(r)...)
	}
	for mesh := range m.MeshNames() {
		var refs []api.Ref
		for o := range m.Attachable(mesh) {
			refs = append(refs, o.Ref)
		}
		all.add(boundsBetween(m.Model.Reader(nil), mesh)...)
		reaches := m.ReachOf(mesh, refs, nil)
		for _, x := range reaches {
			all.add(useless(m, x)...)
		}
		for _, x := range reaches {
			all.add(idleNotes(m, x)...)
		}
	}
	all.add(failures(m)...)
	slices.SortStableFunc(all.notes, func(a, b api.Note) int { return owner(a).Compare(owner(b)) })
	return all.notes
}
