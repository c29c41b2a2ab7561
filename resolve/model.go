package resolve

import (
	"cmp"
	"iter"
	"slices"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// Model is what applies everywhere at one revision. It is immutable.
type Model struct {
	snapshot *api.Snapshot
	dialects []route.Dialect
	kinds    []*policies.Kind
	zone     map[string]string // labels that the control plane computes
	meshes   *iradix.Tree[*mesh]
}

// Affected names the dataplanes whose Resolved changed, appeared or went away.
type Affected struct {
	Dataplanes []api.Ref // sorted
}

// Compile resolves a whole snapshot. The notes are those on all objects. Of two
// kinds of routes for one destination the one that the list of dialects has
// earlier owns it, those for connections after all others.
func Compile(s *api.Snapshot, dialects []route.Dialect, kinds []*policies.Kind) (*Model, []api.Note) {
	return CompileIn("", s, dialects, kinds)
}

// CompileIn is Compile for a control plane of that zone: selectors see the labels
// that it computes for objects of its own, as readers do (spec/kuma.md 1.2).
func CompileIn(zone string, s *api.Snapshot, dialects []route.Dialect, kinds []*policies.Kind) (*Model, []api.Note) {
	empty := &Model{dialects: dialects, kinds: kinds, zone: api.ZoneLabels(zone), meshes: iradix.New[*mesh]()}
	changes := make([]api.Change, 0, s.Len())
	for o := range s.All() {
		changes = append(changes, api.Change{After: o})
	}
	m, _ := empty.Update(s, changes)
	return m, slices.Collect(m.Notes())
}

// Update resolves s, which differs from the model's snapshot by changes, at a
// cost that follows the changes. The result equals Compile(s). Several models
// may be derived from one, so a preview costs no more than the change it shows.
func (m *Model) Update(s *api.Snapshot, changes []api.Change) (*Model, Affected) {
	next := &Model{snapshot: s, dialects: m.dialects, kinds: m.kinds, zone: m.zone, meshes: m.meshes}
	byMesh := map[string][]api.Change{}
	var names []string
	for _, c := range changes {
		name := meshOf(c.Ref())
		if _, ok := byMesh[name]; !ok {
			names = append(names, name)
		}
		byMesh[name] = append(byMesh[name], c)
	}
	slices.Sort(names)
	var affected Affected
	for _, name := range names {
		refs := next.updateMesh(name, byMesh[name])
		affected.Dataplanes = append(affected.Dataplanes, refs...)
	}
	slices.SortFunc(affected.Dataplanes, api.Ref.Compare)
	return next, affected
}

// meshOf is the mesh that an object belongs to; a Mesh belongs to itself.
func meshOf(r api.Ref) string {
	if r.Kind == api.KindMesh {
		return r.Name
	}
	return r.Mesh
}

// updateMesh replaces one mesh of m, which is not yet shared.
func (m *Model) updateMesh(name string, changes []api.Change) []api.Ref {
	prev, _ := m.meshes.Get([]byte(name))
	mode := modeOf(m.snapshot, name)
	if prev != nil && prev.mode != mode {
		return m.rebuildMesh(prev, name, mode, changes)
	}
	u := newUpdater(m, prev, name)
	u.mesh.mode = mode
	u.run(changes)
	m.put(u.mesh)
	return u.affected
}

// put replaces a mesh, or forgets one of which nothing is left.
func (m *Model) put(x *mesh) {
	if x.objects.Len() == 0 {
		m.meshes, _, _ = m.meshes.Delete([]byte(x.name))
		return
	}
	m.meshes, _, _ = m.meshes.Insert([]byte(x.name), x)
}

// rebuildMesh resolves a mesh anew, because what names mean has changed. It takes
// the objects as the mesh has them, and not as the snapshot does: one that could
// not be resolved when it came must not stop the others now.
func (m *Model) rebuildMesh(prev *mesh, name, mode string, changes []api.Change) []api.Ref {
	u := newUpdater(m, nil, name)
	u.mesh.mode = mode
	changed := map[api.Ref]bool{}
	for _, c := range changes {
		changed[c.Ref()] = true
	}
	all := slices.DeleteFunc(slices.Clone(changes), func(c api.Change) bool { return c.After == nil })
	for _, x := range collect(prev.objects.Root().Iterator()) {
		if o := objectOf(x); !changed[o.Ref] {
			all = append(all, api.Change{After: o})
		}
	}
	u.run(all)
	for _, p := range collect(prev.planes.Root().Iterator()) {
		if _, ok := u.mesh.planes.Get([]byte(objectKey(p.resolved.Ref))); !ok {
			u.affected = append(u.affected, p.resolved.Ref)
		}
	}
	m.put(u.mesh)
	return u.affected
}

// disabled is the mode of a mesh in which names without a port mean
// kuma.io/services; it is also that of a mesh that says nothing.
const disabled = "Disabled"

func modeOf(s *api.Snapshot, name string) string {
	if o, ok := s.Get(api.Ref{Kind: api.KindMesh, Name: name}); ok {
		if spec, ok := o.Spec.(*api.Mesh); ok && spec.MeshServices != nil {
			return cmp.Or(spec.MeshServices.Mode, disabled)
		}
	}
	return disabled
}

func collect[T any](it *iradix.Iterator[T]) []T {
	var out []T
	for _, v, ok := it.Next(); ok; _, v, ok = it.Next() {
		out = append(out, v)
	}
	return out
}

// Snapshot is what the model was compiled from.
func (m *Model) Snapshot() *api.Snapshot { return m.snapshot }

// Kinds are the kinds of policies that the model knows, in their order.
func (m *Model) Kinds() []*policies.Kind { return m.kinds }

// Dataplane is what applies to one dataplane.
func (m *Model) Dataplane(ref api.Ref) (*Resolved, bool) {
	if p, ok := m.planed(ref); ok {
		return p.resolved, true
	}
	return nil, false
}

func (m *Model) planed(ref api.Ref) (*planed, bool) {
	x, ok := m.meshes.Get([]byte(ref.Mesh))
	if !ok {
		return nil, false
	}
	return x.planes.Get([]byte(objectKey(ref)))
}

// Dataplanes yields all of a mesh ("" for all meshes) in the order of their refs.
func (m *Model) Dataplanes(mesh string) iter.Seq[*Resolved] {
	return func(yield func(*Resolved) bool) {
		for x := range m.meshesNamed(mesh) {
			it := x.planes.Root().Iterator()
			for _, p, ok := it.Next(); ok; _, p, ok = it.Next() {
				if !yield(p.resolved) {
					return
				}
			}
		}
	}
}

func (m *Model) meshesNamed(name string) iter.Seq[*mesh] {
	return func(yield func(*mesh) bool) {
		it := m.meshes.Root().Iterator()
		for _, x, ok := it.Next(); ok; _, x, ok = it.Next() {
			if (name == "" || x.name == name) && !yield(x) {
				return
			}
		}
	}
}

// Destinations yields those of a mesh in the order of their ids.
func (m *Model) Destinations(mesh string) iter.Seq[*Destination] {
	return func(yield func(*Destination) bool) {
		if x, ok := m.meshes.Get([]byte(mesh)); ok {
			for d := range x.destsNamed(anyTarget) {
				if !yield(d.Destination) {
					return
				}
			}
		}
	}
}

// Destination finds a destination of a mesh by its id.
func (m *Model) Destination(mesh, id string) (*Destination, bool) {
	if x, ok := m.meshes.Get([]byte(mesh)); ok {
		if d, ok := x.dests.Get([]byte(id)); ok {
			return d.Destination, true
		}
	}
	return nil, false
}

// Route is a route object as its dialect reads it.
func (m *Model) Route(ref api.Ref) (*route.Opinion, bool) {
	x, ok := m.meshes.Get([]byte(ref.Mesh))
	if !ok {
		return nil, false
	}
	o, ok := x.objects.Get([]byte(objectKey(ref)))
	if !ok {
		return nil, false
	}
	r, ok := o.(*routeObject)
	if !ok {
		return nil, false
	}
	return r.opinion, true
}

// attachableKinds are the kinds of policies and routes, sorted.
func (m *Model) attachableKinds() []string {
	var out []string
	for _, k := range m.kinds {
		out = append(out, k.Name)
	}
	for _, d := range m.dialects {
		for _, t := range d.Types {
			out = append(out, t.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Dialect is the language of documents of a kind; nil for what is no route.
func (m *Model) Dialect(kind string) *route.Dialect {
	d, _ := kindOf(m.dialects, kind)
	return d
}

// IsRoute reports whether one of the route dialects has documents of the kind.
func (m *Model) IsRoute(kind string) bool {
	return m.Dialect(kind) != nil
}
