// Package notes finds what there is to say about objects beside what resolving them found: what has no effect,
// what Envoys do not get as it is written, and limits in time that never fire.
package notes

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/clusters"
)

// OfAttached are what there is to say about an object where it is attached: fields
// without effect, and what Envoys do not get as it is written.
func OfAttached(q *resolve.Reader, x *impact.Impact, look Look) []api.Note {
	var all Collector
	all.Add(idleNotes(q, x)...)
	all.Add(useless(q, x)...)
	for _, p := range x.Placements {
		if !q.Visit() {
			break
		}
		all.Add(look.place(p)...)
		all.Add(look.between(q, p)...)
	}
	return slices.DeleteFunc(all.Notes, func(n api.Note) bool { return owner(n) != x.Ref })
}

// place is what the Envoy of the dataplane at p does not get as it is written, and which limits in
// time never fire there.
func (l Look) place(p impact.Placement) []api.Note {
	var at any = p.Inbound
	switch {
	case p.Whole != nil:
		at = p.At // whose ports others may have
	case p.Outbound != nil:
		at = p.Outbound
	case p.Cluster != nil:
		at = p.Cluster.Cluster
	}
	notes, known := l.known[at]
	if !known {
		notes = l.asked(p)
		l.known[at] = notes
	}
	return notes
}

func (l Look) asked(p impact.Placement) []api.Note {
	return l.safely(p.At, func() []api.Note {
		switch {
		case p.Whole != nil:
			return l.renderer.WholeNotes(p.At)
		case p.Outbound != nil:
			return slices.Concat(l.renderer.OutboundNotes(p.At, p.Outbound), ownBounds(l.Locator.snapshot, p.At, p.Outbound))
		case p.Cluster != nil:
			return slices.Concat(clusters.Notes(p.Cluster), ownBounds(l.Locator.snapshot, p.At, p.At.Sending(p.Cluster.Cluster.Name)...))
		}
		return l.renderer.InboundNotes(p.At, p.Inbound)
	})
}

// Collector collects notes, each once.
type Collector struct {
	seen  map[noteKey]bool
	Notes []api.Note
}

// noteKey is what a note says: where, and what.
type noteKey struct {
	origin        api.Ref
	at, field     api.Path
	code, message string
}

// Add adds those that are not there yet.
func (r *Collector) Add(notes ...api.Note) {
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
			r.Notes = append(r.Notes, n)
		}
	}
}

// All is what there is to say about the objects of a model: what resolving
// them found, what has no effect, and what Envoys do not get as it is written.
// Each is said once, however many dataplanes it concerns, in the order of refs.
func All(m *resolve.Reader) []api.Note {
	var all Collector
	for n := range m.AllNoted() {
		all.Add(n)
	}
	byMesh := map[string][]lost{}
	for mesh := range m.MeshNames() {
		for l := range lostIn(m, mesh) {
			all.Add(l.notes...)
			m.Fails(l.failed...)
			if len(l.idle) > 0 {
				byMesh[mesh] = append(byMesh[mesh], l)
			}
		}
		all.Add(boundsBetween(m, mesh)...)
		for _, x := range m.ImpactOf(mesh, attachableIn(m, mesh), nil) {
			all.Add(useless(m, x)...)
		}
	}
	for _, mesh := range slices.Sorted(maps.Keys(byMesh)) {
		for _, x := range m.ImpactOf(mesh, idleSomewhere(m, byMesh[mesh]), nil) {
			all.Add(idleNotes(m, x)...)
		}
	}
	all.Add(Failures(m)...)
	slices.SortStableFunc(all.Notes, func(a, b api.Note) int { return owner(a).Compare(owner(b)) })
	return all.Notes
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

// On is what Notes says of some objects, at a cost that follows what they
// are about.
func On(m *resolve.Reader, refs ...api.Ref) []api.Note {
	var all Collector
	look := LookAt(m)
	byMesh := map[string][]api.Ref{}
	for _, ref := range refs {
		all.Add(m.NotesOn(ref)...)
		if r, ok := m.Dataplane(ref); ok {
			all.Add(notesAbout(look.At(r), ref)...)
		}
		if o, ok := m.Snapshot().Get(ref); ok && IsAttachable(m, o) {
			byMesh[ref.Mesh] = append(byMesh[ref.Mesh], ref)
		}
	}
	for _, mesh := range slices.Sorted(maps.Keys(byMesh)) {
		for _, x := range m.ImpactOf(mesh, byMesh[mesh], nil) {
			all.Add(OfAttached(m, x, look)...)
		}
	}
	all.Add(Failures(m)...)
	return all.Notes
}

// CodeFailed is the code of what a bug in weft keeps from being known.
const CodeFailed = "Failed"

// Failures are what the question met: notes on dataplanes, so that nothing of one
// stops the answers about others.
func Failures(m *resolve.Reader) []api.Note {
	var notes []api.Note
	for _, p := range m.Failed() {
		notes = append(notes, Failure(p.At.Ref, p.Failure()))
	}
	return notes
}

// Failure is a note on a dataplane of which a bug keeps something from being told.
func Failure(dp api.Ref, bug any) api.Note {
	return api.Note{Origin: &api.Origin{Ref: dp}, Severity: api.Error, Code: CodeFailed, Message: bugText("what holds on it from being told", bug)}
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

// Look finds what is lost on the way to the Envoys of dataplanes, without
// rendering them. It serves one question.
type Look struct {
	renderer *xds.Renderer
	known    map[any][]api.Note // of places: several objects are attached to one
	Locator  *Locator           // of fields, in documents
	Limited  *limitedInbounds
}

// LookAt begins a question about a model.
func LookAt(m *resolve.Reader) Look {
	return Look{renderer: xds.NewRenderer(m.Kinds()), known: map[any][]api.Note{}, Locator: LocatorOf(m), Limited: &limitedInbounds{m: m, at: map[api.Ref][]*effective.Inbound{}}}
}

// At is what the Envoy of r does not get as it is written, at the entry that
// wrote it, and which limits in time never fire there. What nobody wrote is the mesh's.
func (l Look) At(r *effective.Resolved) []api.Note {
	return l.safely(r, func() []api.Note {
		return slices.Concat(l.renderer.Notes(r), ownBounds(l.Locator.snapshot, r, r.Outbounds...))
	})
}

// between is what there is to say at p on limits in time of callers and of those whom they call.
func (l Look) between(q *resolve.Reader, p impact.Placement) []api.Note {
	if p.Whole != nil {
		return nil
	}
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
		notes = boundsAt(q, p, l.Limited)
		l.known[key] = notes
	}
	return notes
}

// safely is what ask answers; where it panics, that is a note on the dataplane:
// nothing of one dataplane stops the answers about others.
func (l Look) safely(r *effective.Resolved, ask func() []api.Note) (notes []api.Note) {
	defer func() {
		if p := recover(); p != nil {
			notes = []api.Note{{Origin: &api.Origin{Ref: r.Ref}, Severity: api.Error, Code: CodeRejected,
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

// IsAttachable reports whether an object is a policy or a route.
func IsAttachable(m *resolve.Reader, o *api.Object) bool {
	_, policy := o.Spec.(*policies.Spec)
	return policy || m.IsRoute(o.Kind)
}

// CodeRejected is the code of what an Envoy would refuse, and so never gets.
const CodeRejected = "Rejected"

// IsReported reports whether documents of a kind stand beside the routes of their language,
// and so take part nowhere themselves.
func IsReported(m *resolve.Reader, kind string) bool {
	d := m.Dialect(kind)
	return d != nil && slices.ContainsFunc(d.Types, func(t api.Type) bool { return t.Name == kind && t.Reported })
}
