package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/derive"
)

// clusterFailures are the bugs that the stage met.
func (m *Model) clusterFailures() []Failure {
	var out []Failure
	for _, f := range m.cluster.Failures() {
		failure := Failure{What: f.Collection + " " + f.Key.Key, Cause: f.Cause}
		for _, in := range f.Inputs {
			failure.Objects = append(failure.Objects, writtenRef(in.Key))
		}
		out = append(out, failure)
	}
	return out
}

// writtenRef reads a key of a source of the stage, which is the text of a ref.
func writtenRef(key string) api.Ref {
	p := strings.Split(key, "/")
	switch {
	case len(p) == 4:
		return api.Ref{Kind: p[0], Mesh: p[1], Namespace: p[2], Name: p[3]}
	case p[0] == api.KindNamespace && len(p) == 3:
		return api.Ref{Kind: p[0], Mesh: p[1], Name: p[2]}
	}
	return api.Ref{Kind: p[0], Name: p[len(p)-1]}
}

// clusterNotes are those on an object that come of the stage.
func (m *Model) clusterNotes(ref api.Ref) []api.Note {
	if m.stage.Made(m.cluster, ref) != nil && m.stored.Has(ref) {
		return []api.Note{api.Notef(&api.Origin{Ref: ref}, api.Warning, api.CodeConflicted, "", "a document by this name is written too, and has no effect, because the pod's own %s holds; remove the document, or give it another name", ref.Kind)}
	}
	o, _ := m.snapshot.Get(ref)
	if o == nil || o.From == nil || o.From.Kind != ref.Kind {
		return m.stage.NotesOn(m.cluster, ref)
	}
	var notes []api.Note // on what was written elsewhere
	for _, n := range m.stage.NotesOn(m.cluster, *o.From) {
		n.Origin = &api.Origin{Ref: ref}
		notes = append(notes, n)
	}
	return notes
}

// Failure is a bug that keeps something from being resolved.
type Failure struct {
	// What was to be derived, and why it was not.
	What, Cause string
	// Objects are those whose writers it should reach: of those that it was to be
	// derived from the routes and policies, or else all.
	Objects []api.Ref
}

// Failures are the bugs that the model met, by mesh. All that does not depend on
// them holds.
func (m *Model) Failures() []Failure {
	out := m.clusterFailures()
	it := m.meshes.Root().Iterator()
	for name, g, ok := it.Next(); ok; name, g, ok = it.Next() {
		for _, f := range g.Failures() {
			out = append(out, Failure{What: fmt.Sprintf("%s %q", f.Collection, f.Key.Key), Cause: f.Cause, Objects: m.concerned(f, string(name))})
		}
	}
	return out
}

// concerned are the objects that a failure in a mesh is told at.
func (m *Model) concerned(f derive.Failure, mesh string) []api.Ref {
	var all, attachable []api.Ref
	for _, in := range f.Inputs {
		parts := strings.SplitN(in.Key, "/", 3) // as ObjectKey put them together
		ref := api.Ref{Kind: parts[0], Mesh: mesh, Namespace: parts[1], Name: parts[2]}
		if ref.Kind == api.KindMesh {
			ref.Mesh = ""
		}
		all = append(all, ref)
		if in.Collection == m.all.PolicyObjects.Name() || in.Collection == m.all.RouteObjects.Name() {
			attachable = append(attachable, ref)
		}
	}
	if len(attachable) > 0 {
		return attachable
	}
	return all
}

// failureNotes say of an object that a bug strikes at it, or at something that it
// takes part in.
func (q *Reader) failureNotes(ref api.Ref) []api.Note {
	if q.failures == nil {
		q.failures = q.Failures()
	}
	var notes []api.Note
	for _, f := range q.failures {
		if slices.Contains(f.Objects, ref) {
			notes = append(notes, api.Notef(&api.Origin{Ref: ref}, api.Error, conditions.Unresolvable, "",
				"a bug in weft keeps it from taking effect: %s failed with %s; change it, and report that", f.What, f.Cause))
		}
	}
	return notes
}
