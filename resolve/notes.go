package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/index"
)

// Notes are worked out when somebody asks: they depend on what else there is,
// and keeping them would make every change cost as much as the mesh.

// Notes yields what there is to say about every object, in the order of refs.
func (m *Model) Notes() iter.Seq[api.Note] {
	return func(yield func(api.Note) bool) {
		q := m.Reader(nil)
		for o := range m.snapshot.All() {
			for _, n := range q.NotesOn(o.Ref) {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// NotesOn are the notes on one object.
func (q *Reader) NotesOn(ref api.Ref) []api.Note {
	if !q.snapshot.Has(ref) {
		ref = q.stage.Placed(q.cluster, ref)
	}
	o, ok := q.snapshot.Get(ref)
	if !ok {
		return nil
	}
	if name := meshOf(ref); name != api.DefaultMesh && name != "" {
		if _, ok := q.snapshot.Get(api.Ref{Kind: api.KindMesh, Name: name}); !ok {
			return []api.Note{q.meshNote(ref)}
		}
	}
	notes := append(q.failureNotes(ref), q.clusterNotes(ref)...)
	if ref.Kind == api.KindPod {
		return append(notes, q.planeNotes(ref)...)
	}
	x, ok := q.mesh(meshOf(ref))
	if !ok {
		return notes
	}
	key := index.ObjectKey(ref)
	if why := x.KeptOut(o); why != nil && o.From == nil && !q.IsRoute(ref.Kind) {
		return append(notes, *why)
	}
	if _, ok := o.Spec.(*api.MeshTrust); ok {
		return append(notes, x.NotesOnOther(key)...)
	}
	if known := q.asked(meshOf(ref)).notes.Noted.At.Load(); known != nil && x.Attachable(ref.Kind) {
		return append(notes, known.On(o).Notes...)
	}
	if p := x.Policy(ref); p != nil {
		return append(notes, conditions.PolicyNotes(x.Mesh, p)...)
	}
	if r := x.Route(ref); r != nil {
		return slices.Concat(notes, r.Parsed.Notes, conditions.RouteNotes(x.Mesh, r))
	}
	if p, _ := x.Dataplanes.Get(x.At, key); p != nil {
		if p.Object.From != nil { // they stand at the pod
			return notes
		}
		return slices.Concat(notes, x.NotesOnOther(key), q.strangerNotes(x, p))
	}
	return append(notes, x.NotesOnOther(key)...)
}

// meshNote says that an object's mesh is not there: no dataplane can join it.
func (m *Model) meshNote(ref api.Ref) api.Note {
	var names []string
	for o := range m.snapshot.Of(api.KindMesh, "") {
		names = append(names, o.Name)
	}
	return api.Notef(&api.Origin{Ref: ref}, api.Warning, "MeshNotFound", "mesh", "there is no Mesh %s%s", ref.Mesh, conditions.DidYouMean(ref.Mesh, names))
}

// WhyNot says why a policy or route that takes no part on a dataplane does not:
// one reason, or one for each of its entries. It has no answer for objects that
// the model keeps out, such as shadow policies.
func (q *Reader) WhyNot(ref, dp api.Ref) []api.Note {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	p, _ := x.Dataplanes.Get(x.At, index.ObjectKey(dp))
	r, _ := x.Resolved.Get(x.At, index.ObjectKey(dp))
	if p == nil || r == nil {
		return nil
	}
	return x.WhyNot(ref, p, r)
}
