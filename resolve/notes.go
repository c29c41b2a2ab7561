package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/route"
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
	if why := x.Excluded(o); why != nil && o.From == nil && !q.IsRoute(ref.Kind) {
		return append(notes, *why)
	}
	if _, ok := o.Spec.(*api.MeshTrust); ok {
		return append(notes, x.notesOn(x.Others(), key)...)
	}
	if x.Attachable(ref.Kind) {
		return append(notes, x.notesOn(x.Attached(), key)...)
	}
	if p, _ := x.Dataplanes.Get(x.At, key); p != nil {
		if p.Object.From != nil { // they stand at the pod
			return notes
		}
		return slices.Concat(notes, x.notesOn(x.Others(), key), q.plaintextCallerNotes(x, p))
	}
	return append(notes, x.notesOn(x.Others(), key)...)
}

// notesOn are those of some that are on the object of a key.
func (m mesh) notesOn(some derive.OnDemand[conditions.ObjectNotes], key string) []api.Note {
	if n := some.Get(m.At, key); n != nil {
		return n.Notes
	}
	return nil
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

// AllNotes works out the notes on all policies and routes of a mesh, so that asking for
// those on each of them costs no more than finding them.
func (q *Reader) AllNotes(mesh string) {
	if x, ok := q.mesh(mesh); ok {
		x.Attached().At(x.At)
	}
}

// NotesAt are the notes that concern one dataplane: those on itself, and those
// on policies and routes that are meant for it but do not come to apply.
func (q *Reader) NotesAt(dp api.Ref) []api.Note {
	x, ok := q.mesh(dp.Mesh)
	if !ok {
		return nil
	}
	p, _ := x.Dataplanes.Get(x.At, index.ObjectKey(dp))
	if p == nil {
		return nil
	}
	notes := slices.Concat(conditions.DataplaneNotes(x.Mesh, p), q.plaintextCallerNotes(x, p), q.stage.NotesOf(q.cluster, dp))
	for _, n := range x.Attached().At(x.At).All() {
		if !q.visit() {
			break
		}
		if n.Policy != nil && conditions.MeantFor(x.Mesh, n.Policy, p) || n.Route != nil && conditions.RouteMeantFor(x.Mesh, n.Route, p) {
			notes = append(notes, n.Notes...)
		}
	}
	return notes
}

// What there is to say on dataplanes, services and bundles of trust follows changes as what there is
// on policies and routes does, once somebody has asked for what there is on all objects.

// AllNoted yields what NotesOn says of all objects, those on one object in their order. It costs what
// was touched since somebody asked, and what there is to say.
func (q *Reader) AllNoted() iter.Seq[api.Note] {
	return func(yield func(api.Note) bool) {
		alone := q.cluster.Empty() && len(q.Failures()) == 0
		for name := range q.MeshNames() {
			x, _ := q.mesh(name)
			x.Attached().At(x.At)
			x.Others().At(x.At)
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
		for _, some := range []derive.OnDemand[conditions.ObjectNotes]{x.Attached(), x.Others()} {
			for _, of := range some.At(x.At).All() {
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
			for _, n := range q.plaintextCallerNotes(x, p) {
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

// planeNotes are those on the Dataplane of a pod.
func (q *Reader) planeNotes(pod api.Ref) []api.Note {
	o := q.stage.PlaneOf(q.cluster, pod)
	if o == nil {
		return nil
	}
	x, ok := q.mesh(o.Mesh)
	if !ok {
		return nil
	}
	if why := x.Excluded(o); why != nil {
		return []api.Note{*why}
	}
	return x.notesOn(x.Others(), index.ObjectKey(o.Ref))
}

// Owners are the routes of other kinds that own everything that an entry of a route is
// about, each once; none where something of it is the route's own.
func (q *Reader) Owners(ref api.Ref, e *route.Entry) []*api.Origin {
	x, ok := q.mesh(ref.Mesh)
	if !ok || x.Route(ref) == nil {
		return nil
	}
	owners, kept := conditions.OwnersOf(x.Mesh, x.Route(ref), e)
	if kept {
		return nil
	}
	var out []*api.Origin
	for _, by := range owners {
		if o := (&api.Origin{Ref: by.Object.Ref}); !slices.ContainsFunc(out, o.Same) {
			out = append(out, o)
		}
	}
	return out
}

// Uncarried are the notes on a policy about who may call for which it should not have been written:
// on routes it is carried out in no way but that nobody gets in (spec/identity.md 4.5), or it is to
// deny what no request is.
func (q *Reader) Uncarried(ref api.Ref) []api.Note {
	x, ok := q.mesh(meshOf(ref))
	if !ok {
		return nil
	}
	p := x.Policy(ref)
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(append(conditions.RouteAuthorizationNotes(x.Mesh, p), conditions.VoidNotes(x.Mesh, p)...), func(n api.Note) bool { return n.Severity != api.Error })
}

// codeStrictDestination is that of notes on both ends of calls that are refused: who calls has no
// identity, and who is called takes mutual TLS alone (spec/identity.md 3.3).
const codeStrictDestination = "StrictDestination"

// strangers are the calls of a mesh that are refused because who calls has no identity.
type plaintextCallers struct {
	calls   map[string][]string // ids of destinations, by ObjectKey of the caller
	callers map[string][]string // names of dataplanes, by ObjectKey of who is called
}

type plaintextCallersKey string

// plaintextCallersIn are those of a mesh, found out once for each model that is asked.
func (q *Reader) plaintextCallersIn(x mesh, name string) *plaintextCallers {
	return Cached(q, plaintextCallersKey(name), func() *plaintextCallers {
		out := &plaintextCallers{map[string][]string{}, map[string][]string{}}
		strict := map[string][]string{} // who takes mutual TLS alone, by the id of a destination
		for o := range q.snapshot.Of(api.KindDataplane, name) {
			key := index.ObjectKey(o.Ref)
			if id := x.TLSOf(o.Ref).GetIdentity(); id != nil && id.Problem == "" && !x.InsightOf(o.Ref).Proxyless {
				continue
			}
			list, _ := x.Calls.Get(x.At, key)
			if list == nil {
				continue
			}
			for _, c := range list.List {
				if c.Dest == nil {
					continue
				}
				planes, known := strict[c.Dest.Key]
				if !known {
					planes = x.strictBehind(c.Dest)
					strict[c.Dest.Key] = planes
				}
				if len(planes) > 0 {
					out.calls[key] = append(out.calls[key], c.Dest.ID)
				}
				for _, p := range planes {
					if !slices.Contains(out.callers[p], o.FullName()) {
						out.callers[p] = append(out.callers[p], o.FullName())
					}
				}
			}
		}
		return out
	})
}

// strictBehind are those who answer for a destination and take mutual TLS alone, by ObjectKey.
func (m mesh) strictBehind(d *services.Destination) (out []string) {
	for _, e := range m.MembersOf(d).List {
		key := index.ObjectKey(e.Dataplane)
		if p, _ := m.Dataplanes.Get(m.At, key); p != nil && !slices.Contains(out, key) && !m.TLSOf(p.Object.Ref).At(p, e.Address, e.Port).TakesPlain() {
			out = append(out, key)
		}
	}
	return out
}

// plaintextCallerNotes are on both ends of such calls.
func (q *Reader) plaintextCallerNotes(x mesh, p *index.Dataplane) (notes []api.Note) {
	if !x.HasIdentities() {
		return nil
	}
	found, key := q.plaintextCallersIn(x, p.Object.Mesh), index.ObjectKey(p.Object.Ref)
	if ids := found.calls[key]; len(ids) > 0 {
		why, mend := "it has no identity", "let a MeshIdentity select it"
		if x.InsightOf(p.Object.Ref).Proxyless {
			why, mend = "its gRPC client has no sidecar and calls in plain text", "give it a sidecar"
		}
		notes = append(notes, api.Notef(p.Origin(), api.Error, codeStrictDestination, "", "%s, and its calls of %s are refused, which take mutual TLS alone; %s, or let a MeshTLS of mode Permissive be about who it calls", why, services.SomeNames(ids), mend))
	}
	if names := found.callers[key]; len(names) > 0 {
		notes = append(notes, api.Notef(p.Origin(), api.Error, codeStrictDestination, "", "it takes mutual TLS alone, and refuses callers that have no identity, or no sidecar: %s; let a MeshIdentity select them, give them sidecars, or let a MeshTLS of mode Permissive be about it", services.SomeNames(names)))
	}
	return notes
}
