package resolve

import (
	"iter"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/conditions"
)

// What there is to say on dataplanes, services and bundles of trust follows changes as what there is
// on policies and routes does, once somebody has asked for what there is on all objects.

// AllNoted yields what NotesOn says of all objects, those on one object in their order. It costs what
// was touched since somebody asked, and what there is to say.
func (q *Reader) AllNoted() iter.Seq[api.Note] {
	return func(yield func(api.Note) bool) {
		alone := q.cluster.Empty() && len(q.Failures()) == 0
		for name := range q.MeshNames() {
			x, _ := q.mesh(name)
			q.noted(x)
			x.OtherNotes(q.whole)
			alone = alone && q.isThere(name) && !x.Restricted()
		}
		if alone {
			q.notedIn(yield)
			return
		}
		for o := range q.snapshot.All() {
			if !q.visit() {
				return
			}
			for _, n := range q.NotesOn(o.Ref) {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// notedIn yields what is known of all meshes. It is all there is to say where there are no pods and
// no bugs, and each mesh is there.
func (q *Reader) notedIn(yield func(api.Note) bool) {
	for name := range q.MeshNames() {
		x, _ := q.mesh(name)
		for _, known := range []*conditions.Notes{q.noted(x), x.OtherNotes(q.whole)} {
			for _, of := range known.List {
				if !q.visit() {
					return
				}
				for _, n := range of.Notes {
					if !yield(n) {
						return
					}
				}
			}
		}
		if !x.HasIdentities() {
			continue
		}
		for p := range x.Dataplanes.Values(x.At) {
			for _, n := range q.strangerNotes(x, p) {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// isThere reports whether there is a mesh of that name.
func (q *Reader) isThere(mesh string) bool {
	return mesh == "" || mesh == api.DefaultMesh || q.snapshot.Has(api.Ref{Kind: api.KindMesh, Name: mesh})
}
