package resolve

import (
	"iter"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// Model is what applies everywhere at one revision. It is immutable.
type Model struct {
	snapshot *api.Snapshot
	dialects []route.Dialect
	kinds    []*policies.Kind
}

// Affected names the dataplanes whose Resolved changed, appeared or went away.
type Affected struct {
	Dataplanes []api.Ref // sorted
}

// Compile resolves a whole snapshot. The notes are those on all objects.
func Compile(s *api.Snapshot, dialects []route.Dialect, kinds []*policies.Kind) (*Model, []api.Note) {
	return &Model{snapshot: s, dialects: dialects, kinds: kinds}, nil
}

// Update resolves s, which differs from the model's snapshot by changes, at a
// cost that follows the changes. The result equals Compile(s).
func (m *Model) Update(s *api.Snapshot, changes []api.Change) (*Model, Affected) {
	n, _ := Compile(s, m.dialects, m.kinds)
	return n, Affected{}
}

// Snapshot is what the model was compiled from.
func (m *Model) Snapshot() *api.Snapshot { return m.snapshot }

// Kinds are the kinds of policies that the model knows, in their order.
func (m *Model) Kinds() []*policies.Kind { return m.kinds }

// Dataplane is what applies to one dataplane.
func (m *Model) Dataplane(ref api.Ref) (*Resolved, bool) { return nil, false }

// Dataplanes yields all of a mesh ("" for all meshes) in the order of their refs.
func (m *Model) Dataplanes(mesh string) iter.Seq[*Resolved] { return func(func(*Resolved) bool) {} }

// Destination finds a destination of a mesh by its id.
func (m *Model) Destination(mesh, id string) (*Destination, bool) { return nil, false }

// Notes yields what there is to say about every object, in the order of refs.
func (m *Model) Notes() iter.Seq[api.Note] { return func(func(api.Note) bool) {} }

// NotesOn are the notes on one object.
func (m *Model) NotesOn(ref api.Ref) []api.Note { return nil }

// NotesAt are the notes that concern one dataplane: what its writers meant to
// apply to it and does not.
func (m *Model) NotesAt(dp api.Ref) []api.Note { return nil }

// Use is how far a policy or route reaches.
type Use struct {
	// Selected are the dataplanes that the top-level targetRef selects, Effective
	// those of them where at least one value or rule of the object takes part.
	Selected, Effective []api.Ref
}

// UseOf tells where a policy or route takes part. It walks the mesh: it is for
// questions of people, not for hot paths.
func (m *Model) UseOf(ref api.Ref) Use { return Use{} }
