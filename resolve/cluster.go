package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/pods"
)

// told is what the meshes are to learn of a set of changes.
type told struct {
	byMesh map[string][]snapshot.Change
	common []derive.Change // of namespaces and generators of hostnames, which every mesh knows
}

// bring makes the stage and the snapshot of next, which m becomes by changes of what is
// written.
func (next *Model) bring(m *Model, changes []snapshot.Change) told {
	var made, placed []snapshot.Change
	next.cluster, made, placed = m.stage.Update(m.cluster, changes)
	next.derived = m.derived + surplus(made) + surplus(placed)
	there := placed
	out := told{byMesh: map[string][]snapshot.Change{}}
	for _, ch := range changes {
		switch ref := ch.Ref(); {
		case ref.Kind == api.KindService || ref.Kind == api.KindEndpointSlice: // as they are placed
		case ref.Kind == api.KindNamespace:
			out.common = append(out.common, next.space(ref.Name))
			there = append(there, ch)
		case ref.Kind == api.KindHostnameGenerator:
			out.common = append(out.common, next.all.GeneratorObjects.Put(ref.String(), ch.After))
			there = append(there, ch)
		case ref.Kind == api.KindDataplaneInsight || ref.Kind == api.KindMeshInsight: // nobody has written them
			out.byMesh[ref.Mesh] = append(out.byMesh[ref.Mesh], ch)
		case m.stage.Made(next.cluster, ref) == nil: // else the pod's own holds
			there = append(there, ch)
		}
	}
	for _, ch := range made { // behind which a written one may stand
		if ch.After == nil {
			ch.After, _ = next.stored.Get(ch.Before.Ref)
		}
		there = append(there, ch)
	}
	if next.snapshot = next.stored; next.derived > 0 {
		next.snapshot = m.snapshot.With(next.stored.Revision(), there)
	}
	for _, ch := range there {
		ref := ch.Ref()
		if name := meshOf(ref); name != "" && !pods.Alone(ref.Kind) && ref.Kind != api.KindNamespace { // the others take no part in any
			out.byMesh[name] = append(out.byMesh[name], ch)
		}
	}
	return out
}

// surplus is how many more objects of changes are not as somebody wrote them.
func surplus(changes []snapshot.Change) (n int) {
	for _, ch := range changes {
		if ch.Before != nil && ch.Before.From != nil {
			n--
		}
		if ch.After != nil && ch.After.From != nil {
			n++
		}
	}
	return n
}

// space is what a mesh is told of a namespace.
func (m *Model) space(name string) derive.Change {
	return m.all.OtherObjects.Put(index.ObjectKey(api.Ref{Kind: api.KindNamespace, Name: name}), m.stage.Namespace(m.cluster, name))
}

// common is what a mesh is told that nobody knew before.
func (m *Model) common() []derive.Change {
	var out []derive.Change
	for o := range m.stage.Namespaces(m.cluster) {
		out = append(out, m.space(o.Name))
	}
	for o := range m.stored.OfKind(api.KindHostnameGenerator) {
		out = append(out, m.all.GeneratorObjects.Put(o.Ref.String(), o))
	}
	return out
}

// tell is what the documents of a mesh become for it, and by how many of its own it has
// more then.
func (m *Model) tell(before *derive.Graph, changes []snapshot.Change) (list []derive.Change, more int) {
	has := map[api.Ref]bool{}
	for _, ch := range changes {
		ref := ch.Ref()
		there, change := m.put(before, ref, ch.After)
		had, again := has[ref]
		if !again {
			had = there
		}
		if has[ref] = ch.After != nil; had != has[ref] {
			if more--; has[ref] {
				more += 2
			}
		}
		list = append(list, change)
	}
	return list, more
}

// put gives an object the source that it belongs to, nil takes it away, and reports whether it was
// there. Of an insight only what it says is kept, under the key of its dataplane.
func (c *collections) put(before *derive.Graph, ref api.Ref, o *api.Object) (was bool, change derive.Change) {
	if ref.Kind != api.KindDataplaneInsight {
		source, key := c.all.Written(ref.Kind), index.ObjectKey(ref)
		x, _ := source.Get(before, key)
		return x != nil, source.Put(key, o)
	}
	ref.Kind = api.KindDataplane
	key := index.ObjectKey(ref)
	x, _ := c.all.Insights.Get(before, key)
	if o == nil {
		return x != nil, c.all.Insights.Delete(key)
	}
	return x != nil, c.all.Insights.Put(key, o.Spec.(*api.DataplaneInsight))
}

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
