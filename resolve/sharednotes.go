package resolve

import (
	"iter"

	"github.com/weftmesh/weft/api"
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
			q.noted(x, name)
			q.othersNoted(x, name)
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
		for _, known := range []*meshNotes{q.noted(x, name), q.othersNoted(x, name)} {
			for _, of := range known.list {
				if !q.visit() {
					return
				}
				for _, n := range of.notes {
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

// othersNoted is what there is to say on all of them in a mesh.
func (q *Reader) othersNoted(x mesh, name string) *meshNotes {
	a := q.asked(name)
	return a.others.find(q, func() *meshNotes {
		if a.othersSince != nil {
			return notesOf(a.othersSince.follow(x.tellOther))
		}
		told := map[string]*toldOf{}
		for key := range x.Dataplanes.All(x.At) {
			told[key] = x.tellOther(key)
		}
		for key := range x.Services.All(x.At) {
			told[key] = x.tellOther(key)
		}
		for _, kind := range []string{api.KindMeshTrust, api.KindMeshIdentity} {
			for key := range x.ObjectsByKind[x.OtherObjects].In(x.At, kind) {
				told[key] = x.tellOther(key)
			}
		}
		return notesOf(told)
	})
}

// tellOther finds out what there is to say on one of them; nil where it is none.
func (m mesh) tellOther(key string) *toldOf {
	return m.recording(key, func(x mesh) (n *objectNotes, ok bool) {
		if o, _ := x.OtherObjects.Get(x.At, key); o != nil {
			switch spec := o.Spec.(type) {
			case *api.MeshTrust:
				return &objectNotes{other: o, notes: trustNotes(x, o, spec)}, true
			case *api.MeshIdentity:
				return &objectNotes{other: o, notes: fallbackNotes(x, o)}, true
			}
			return nil, false
		}
		if p, _ := x.Dataplanes.Get(x.At, key); p != nil {
			return &objectNotes{other: p.Object, notes: dataplaneNotes(x, p)}, true
		}
		if s, _ := x.Services.Get(x.At, key); s != nil {
			return &objectNotes{other: s.Object, notes: serviceNotes(x, s)}, true
		}
		return nil, false
	})
}

// otherNotes is what there is to say on one of them, found out now where nobody has asked for all.
func (m mesh) otherNotes(key string) []api.Note {
	var t *toldOf
	if known := m.asked.others.at.Load(); known != nil {
		t = known.told[key]
	} else {
		t = m.tellOther(key)
	}
	if t == nil || t.notes == nil {
		return nil
	}
	return t.notes.notes
}
