package conditions

import (
	"github.com/weftmesh/weft/api"
)

// OtherNotes is what there is to say on all of them in a mesh.
func (x Mesh) OtherNotes(whole func() bool) *Notes {
	a := x.Cache
	return a.others.Find(whole, func() *Notes {
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
func (m Mesh) tellOther(key string) *toldOf {
	return m.recording(key, func(x Mesh) (n *ObjectNotes, ok bool) {
		if o, _ := x.OtherObjects.Get(x.At, key); o != nil {
			switch spec := o.Spec.(type) {
			case *api.MeshTrust:
				return &ObjectNotes{other: o, Notes: trustNotes(x, o, spec)}, true
			case *api.MeshIdentity:
				return &ObjectNotes{other: o, Notes: fallbackNotes(x, o)}, true
			}
			return nil, false
		}
		if p, _ := x.Dataplanes.Get(x.At, key); p != nil {
			return &ObjectNotes{other: p.Object, Notes: DataplaneNotes(x, p)}, true
		}
		if s, _ := x.Services.Get(x.At, key); s != nil {
			return &ObjectNotes{other: s.Object, Notes: serviceNotes(x, s)}, true
		}
		return nil, false
	})
}

// NotesOnOther is what there is to say on one of them, found out now where nobody has asked for all.
func (m Mesh) NotesOnOther(key string) []api.Note {
	var t *toldOf
	if known := m.Cache.others.At.Load(); known != nil {
		t = known.told[key]
	} else {
		t = m.tellOther(key)
	}
	if t == nil || t.notes == nil {
		return nil
	}
	return t.notes.Notes
}
