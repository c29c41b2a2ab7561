package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/index"
)

// AllNotes works out the notes on all policies and routes of a mesh, so that asking for
// those on each of them costs no more than finding them.
func (q *Reader) AllNotes(mesh string) {
	if x, ok := q.mesh(mesh); ok {
		q.noted(x)
	}
}

// NotesAt are the notes that concern one dataplane: those on itself, and those
// on policies and routes that are meant for it but do not come to apply.
func (q *Reader) NotesAt(dp api.Ref) []api.Note {
	x, ok := q.mesh(dp.Mesh)
	if !ok {
		return nil
	}
	p, _ := x.Dataplanes.Get(x.At, index.ObjectKey(dp))
	if p == nil {
		return nil
	}
	notes := slices.Concat(conditions.DataplaneNotes(x.Mesh, p), q.strangerNotes(x, p), q.stage.NotesOf(q.cluster, dp))
	for _, n := range q.noted(x).List {
		if !q.visit() {
			break
		}
		if n.Policy != nil && conditions.MeantFor(x.Mesh, n.Policy, p) || n.Route != nil && conditions.RouteMeantFor(x.Mesh, n.Route, p) {
			notes = append(notes, n.Notes...)
		}
	}
	return notes
}
