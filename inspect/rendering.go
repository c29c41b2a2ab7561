package inspect

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
)

// remarks collects notes, each once.
type remarks struct {
	seen  map[remark]bool
	notes []api.Note
}

// remark is what a note says: where, and what.
type remark struct {
	origin        api.Ref
	at, field     api.Path
	code, message string
}

func (r *remarks) add(notes ...api.Note) {
	if r.seen == nil {
		r.seen = map[remark]bool{}
	}
	for _, n := range notes {
		key := remark{field: n.Field, code: n.Code, message: n.Message}
		if n.Origin != nil {
			key.origin, key.at = n.Origin.Ref, n.Origin.Field
		}
		if !r.seen[key] {
			r.seen[key] = true
			r.notes = append(r.notes, n)
		}
	}
}

// Notes is what there is to say about the objects of a model: what resolving
// them found, and what Envoys do not get as it is written. Each is said once,
// however many dataplanes it concerns, in the order of refs. It looks at every
// dataplane: it is for questions of people.
func Notes(m *resolve.Model) []api.Note {
	var all remarks
	for n := range m.Notes() {
		all.add(n)
	}
	look := lookAt(m)
	for r := range m.Dataplanes("") {
		all.add(look.at(r)...)
	}
	slices.SortStableFunc(all.notes, func(a, b api.Note) int { return owner(a).Compare(owner(b)) })
	return all.notes
}

// maxLooks bounds the dataplanes that a write looks at: what is shared shows at
// each of them, and Notes says the rest to whoever asks.
const maxLooks = 1000

// NotesOn is what Notes says of some objects, at a cost for writes: it looks at
// those dataplanes themselves, and at some others of their meshes.
func NotesOn(m *resolve.Model, refs ...api.Ref) []api.Note {
	var all remarks
	look := lookAt(m)
	asked, meshes := map[api.Ref]bool{}, map[string]bool{}
	for _, ref := range refs {
		asked[ref], meshes[ref.Mesh] = true, true
		all.add(m.NotesOn(ref)...)
		if r, ok := m.Dataplane(ref); ok {
			all.add(look.at(r)...)
		}
	}
	for _, mesh := range sortedKeys(meshes) {
		looks := 0
		for r := range m.Dataplanes(mesh) {
			if looks++; looks > maxLooks {
				break
			}
			all.add(look.at(r)...)
		}
	}
	return slices.DeleteFunc(all.notes, func(n api.Note) bool { return !asked[owner(n)] })
}

// owner is whose document a note is about.
func owner(n api.Note) api.Ref {
	if n.Origin == nil {
		return api.Ref{}
	}
	return n.Origin.Ref
}

// look renders dataplanes to see what is lost on the way to their Envoys. What
// they share is rendered once, and kept with the model.
type look struct{ renderer *xds.Renderer }

func lookAt(m *resolve.Model) look { return look{xds.NewRenderer(m.Kinds())} }

// at is what the Envoy of r does not get as it is written, at the entry that
// wrote it. What nobody wrote is the mesh's.
func (l look) at(r *resolve.Resolved) []api.Note {
	notes := l.renderer.Render(r).Notes
	for i := range notes {
		n := &notes[i]
		if n.Origin == nil {
			n.Origin = &api.Origin{Ref: api.Ref{Kind: api.KindMesh, Name: r.Ref.Mesh}}
		}
		if n.Field == "" {
			n.Field = n.Origin.Field
		}
	}
	return notes
}
