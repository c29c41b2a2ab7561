package inspect

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
)

// noteSet collects notes, each once.
type noteSet struct {
	seen  map[noteKey]bool
	notes []api.Note
}

// noteKey is what a note says: where, and what.
type noteKey struct {
	origin        api.Ref
	at, field     api.Path
	code, message string
}

func (r *noteSet) add(notes ...api.Note) {
	if r.seen == nil {
		r.seen = map[noteKey]bool{}
	}
	for _, n := range notes {
		key := noteKey{field: n.Field, code: n.Code, message: n.Message}
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
// them found, what has no effect, and what Envoys do not get as it is written.
// Each is said once, however many dataplanes it concerns, in the order of refs.
func Notes(m *resolve.Reader) []api.Note {
	var all noteSet
	for n := range m.AllNoted() {
		all.add(n)
	}
	byMesh := map[string][]lost{}
	for mesh := range m.MeshNames() {
		for l := range lostIn(m, mesh) {
			all.add(l.notes...)
			m.Fails(l.failed...)
			if len(l.idle) > 0 {
				byMesh[mesh] = append(byMesh[mesh], l)
			}
		}
		all.add(boundsBetween(m, mesh)...)
		for _, x := range m.ReachOf(mesh, attachableIn(m, mesh), nil) {
			all.add(useless(m, x)...)
		}
	}
	for _, mesh := range sortedKeys(byMesh) {
		for _, x := range m.ReachOf(mesh, idleSomewhere(m, byMesh[mesh]), nil) {
			all.add(idleNotes(m, x)...)
		}
	}
	all.add(failures(m)...)
	slices.SortStableFunc(all.notes, func(a, b api.Note) int { return owner(a).Compare(owner(b)) })
	return all.notes
}

// attachableIn are the policies and routes of a mesh.
func attachableIn(m *resolve.Reader, mesh string) []api.Ref {
	var refs []api.Ref
	for o := range m.Attachable(mesh) {
		if !o.IsDefault() {
			refs = append(refs, o.Ref)
		}
	}
	return refs
}

// NotesOn is what Notes says of some objects, at a cost that follows what they
// are about.
func NotesOn(m *resolve.Reader, refs ...api.Ref) []api.Note {
	var all noteSet
	look := lookAt(m)
	byMesh := map[string][]api.Ref{}
	for _, ref := range refs {
		all.add(m.NotesOn(ref)...)
		if r, ok := m.Dataplane(ref); ok {
			all.add(notesAbout(look.at(r), ref)...)
		}
		if o, ok := m.Snapshot().Get(ref); ok && isAttachable(m, o) {
			byMesh[ref.Mesh] = append(byMesh[ref.Mesh], ref)
		}
	}
	for _, mesh := range sortedKeys(byMesh) {
		for _, x := range m.ReachOf(mesh, byMesh[mesh], nil) {
			all.add(notesOf(m, x, look)...)
		}
	}
	all.add(failures(m)...)
	return all.notes
}

// failed is the code of what a bug in weft keeps from being known.
const failed = "Failed"

// failures are what the question met: notes on dataplanes, so that nothing of one
// stops the answers about others.
func failures(m *resolve.Reader) []api.Note {
	var notes []api.Note
	for _, p := range m.Failed() {
		notes = append(notes, failure(p.At, p.Failure()))
	}
	return notes
}

func failure(r *effective.Resolved, bug any) api.Note { return Failure(r.Ref, bug) }

// Failure is a note on a dataplane of which a bug keeps something from being told.
func Failure(dp api.Ref, bug any) api.Note {
	return api.Note{Origin: &api.Origin{Ref: dp}, Severity: api.Error, Code: failed, Message: bugText("what holds on it from being told", bug)}
}

func bugText(what string, bug any) string {
	return fmt.Sprintf("a bug in weft keeps %s (%v); report it with the dataplane", what, bug)
}

// notesAbout are the notes on one object.
func notesAbout(notes []api.Note, ref api.Ref) []api.Note {
	return slices.DeleteFunc(slices.Clone(notes), func(n api.Note) bool { return owner(n) != ref })
}

// owner is whose document a note is about.
func owner(n api.Note) api.Ref {
	if n.Origin == nil {
		return api.Ref{}
	}
	return n.Origin.Ref
}

// look finds what is lost on the way to the Envoys of dataplanes, without
// rendering them. It serves one question.
type look struct {
	renderer *xds.Renderer
	known    map[any][]api.Note // of places: several objects are attached to one
	places   *Places            // of fields, in documents
	limited  *limitedInbounds
}

func lookAt(m *resolve.Reader) look {
	return look{renderer: xds.NewRenderer(m.Kinds()), known: map[any][]api.Note{}, places: placesOf(m), limited: &limitedInbounds{m: m, at: map[api.Ref][]*effective.Inbound{}}}
}

// at is what the Envoy of r does not get as it is written, at the entry that
// wrote it, and which limits in time never fire there. What nobody wrote is the mesh's.
func (l look) at(r *effective.Resolved) []api.Note {
	return l.safely(r, func() []api.Note {
		return slices.Concat(l.renderer.Notes(r), ownBounds(l.places.snapshot, r, r.Outbounds...))
	})
}

// between is what there is to say at p on limits in time of callers and of those whom they call.
func (l look) between(q *resolve.Reader, p resolve.Place) []api.Note {
	type between struct{ at any }
	key := between{p.Inbound}
	switch {
	case p.Outbound != nil:
		key.at = p.Outbound
	case p.Cluster != nil:
		key.at = p.Cluster.Cluster
	case isLimited(p.Inbound):
		key.at = p.At.Ref.Mesh
	}
	notes, known := l.known[key]
	if !known {
		notes = boundsAt(q, p, l.limited)
		l.known[key] = notes
	}
	return notes
}

// safely is what ask answers; where it panics, that is a note on the dataplane:
// nothing of one dataplane stops the answers about others.
func (l look) safely(r *effective.Resolved, ask func() []api.Note) (notes []api.Note) {
	defer func() {
		if p := recover(); p != nil {
			notes = []api.Note{{Origin: &api.Origin{Ref: r.Ref}, Severity: api.Error, Code: rejected,
				Message: bugText("its configuration from being made", p)}}
		}
	}()
	notes = slices.Clone(ask())
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
