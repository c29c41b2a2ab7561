package resolve

import (
	"cmp"
	"iter"
	"slices"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/authorization"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/dataplanes"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/hostnames"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/pods"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/resolve/routing"
	"github.com/weftmesh/weft/resolve/services"
	"github.com/weftmesh/weft/resolve/tables"
	"github.com/weftmesh/weft/route"
)

// Model is what applies everywhere at one revision. It is immutable.
type Model struct {
	*collections
	stored   *snapshot.Snapshot // what is written
	snapshot *snapshot.Snapshot // with what follows from it: the Dataplanes of pods
	derived  int                // how many objects of snapshot are not written so
	cluster  *derive.Graph      // of the stage
	meshes   *iradix.Tree[meshState]
	known    effective.Findings
	following
}

// meshState is one mesh at one revision.
type meshState struct {
	*derive.Graph
	own int // documents of the mesh itself
}

// Affected names the dataplanes whose Resolved changed, appeared or went away.
type Affected struct {
	Dataplanes []api.Ref // sorted
}

// Compile resolves a whole snapshot. The notes are those on all objects. Of two
// kinds of routes for one destination the one that the list of dialects has
// earlier owns it, those for connections after all others.
func Compile(s *snapshot.Snapshot, dialects []route.Dialect, kinds []*policies.Kind) (*Model, []api.Note) {
	return CompileIn(api.Zone{}, s, dialects, kinds)
}

// CompileIn is Compile for a control plane of that zone: selectors see the labels
// that it computes for objects of its own, as readers do (spec/kuma.md 1.2).
func CompileIn(zone api.Zone, s *snapshot.Snapshot, dialects []route.Dialect, kinds []*policies.Kind) (*Model, []api.Note) {
	c := newCollections(dialects, kinds, zone)
	nothing := snapshot.New(0)
	empty := &Model{collections: c, stored: nothing, snapshot: nothing, cluster: c.stage.New(), meshes: iradix.New[meshState]()}
	changes := make([]snapshot.Change, 0, s.Len())
	for o := range s.All() {
		changes = append(changes, snapshot.Change{After: o})
	}
	m, _ := empty.Update(s, changes)
	return m, slices.Collect(m.Notes())
}

// Update resolves s, which differs from what the model was compiled from by changes, at
// a cost that follows the changes. The result equals Compile(s). Several models may be
// derived from one, so a preview costs no more than the change it shows.
func (m *Model) Update(s *snapshot.Snapshot, changes []snapshot.Change) (*Model, Affected) {
	next := &Model{collections: m.collections, stored: s, meshes: m.meshes, following: following{earlier: m.following.next(changes)}}
	told := next.bring(m, changes)
	var affected Affected
	if len(told.common) > 0 {
		it := m.meshes.Root().Iterator()
		for name, _, ok := it.Next(); ok; name, _, ok = it.Next() {
			if _, has := told.byMesh[string(name)]; !has {
				told.byMesh[string(name)] = nil
			}
		}
	}
	for name, list := range told.byMesh {
		affected.Dataplanes = append(affected.Dataplanes, next.updateMesh(name, list, told.common)...)
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

// updateMesh replaces one mesh of m, which is not yet shared, or forgets one of
// which nothing is left.
func (m *Model) updateMesh(name string, changes []snapshot.Change, common []derive.Change) (affected []api.Ref) {
	state, ok := m.meshes.Get([]byte(name))
	before := state.Graph
	if !ok {
		before, common = m.all.Schema.New(), m.common()
	}
	list, more := m.tell(before, changes)
	after, delta := before.Update(slices.Concat(list, common)...)
	own := state.own + more
	if own == 0 { // namespaces are in no mesh by themselves
		m.meshes, _, _ = m.meshes.Delete([]byte(name))
	} else {
		m.meshes, _, _ = m.meshes.Insert([]byte(name), meshState{after, own})
	}
	affected = make([]api.Ref, 0, m.all.Resolved.Ran(delta))
	for was, is := range m.all.Resolved.Changes(delta) {
		if r := cmp.Or(is, was); r != nil { // else it fails, as it did
			affected = append(affected, r.Ref)
		}
	}
	return affected
}

// Snapshot is what there is: what was written, and the Dataplanes of pods. A Service is
// in it where it is placed (spec/kubernetes.md 3.1).
func (m *Model) Snapshot() *snapshot.Snapshot { return m.snapshot }

// Written is what the model was compiled from, from which the next snapshot is made.
func (m *Model) Written() *snapshot.Snapshot { return m.stored }

// Kinds are the kinds of policies that the model knows, in their order.
func (m *Model) Kinds() []*policies.Kind { return m.all.Kinds }

// at is a mesh as somebody reads it who asks by in.
func (m *Model) at(in derive.At) mesh {
	return mesh{conditions.Mesh{Mesh: m.all.Stage.Mesh(in)}}
}

func (m *Model) mesh(name string) (mesh, bool) {
	g, ok := m.meshes.Get([]byte(name))
	return m.at(g.Graph), ok
}

// Dataplane is what applies to one dataplane.
func (m *Model) Dataplane(ref api.Ref) (*effective.Resolved, bool) {
	x, ok := m.mesh(ref.Mesh)
	if !ok {
		return nil, false
	}
	r, _ := m.all.Resolved.Get(x.At, index.ObjectKey(ref))
	return r, r != nil
}

// Dataplanes yields all of a mesh ("" for all meshes) in the order of their refs.
func (m *Model) Dataplanes(mesh string) iter.Seq[*effective.Resolved] {
	return func(yield func(*effective.Resolved) bool) {
		it := m.meshes.Root().Iterator()
		for name, g, ok := it.Next(); ok; name, g, ok = it.Next() {
			if mesh != "" && mesh != string(name) {
				continue
			}
			for _, r := range m.all.Resolved.All(g.Graph) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Destinations yields those of a mesh in the order of their ids.
func (m *Model) Destinations(mesh string) iter.Seq[*effective.Destination] {
	return func(yield func(*effective.Destination) bool) {
		if x, ok := m.mesh(mesh); ok {
			for d := range x.DestinationsNamed(index.Any) {
				if d.Key == d.ID && !yield(d.Destination) { // a host once, whoever sees it as what
					return
				}
			}
		}
	}
}

// Destination finds a destination of a mesh by its id.
func (m *Model) Destination(mesh, id string) (*effective.Destination, bool) {
	if x, ok := m.mesh(mesh); ok {
		if d := x.Destination(id); d != nil {
			return d.Destination, true
		}
	}
	return nil, false
}

// Available reports whether somebody answers for a service object: one of its
// ports has a ready endpoint (spec/kuma.md 1.5).
func (m *Model) Available(ref api.Ref) bool {
	x, ok := m.mesh(ref.Mesh)
	if !ok {
		return false
	}
	s, _ := m.all.Services.Get(x.At, index.ObjectKey(ref))
	return s != nil && slices.ContainsFunc(s.Dests, func(d *effective.Destination) bool {
		at := x.Destination(d.ID)
		return at != nil && at.Object != nil && at.Object.Ref == ref && len(x.Answering(at).List) > 0
	})
}

// Route is a route object as its dialect reads it.
func (m *Model) Route(ref api.Ref) (*route.ParsedRoute, bool) {
	x, ok := m.mesh(ref.Mesh)
	if !ok {
		return nil, false
	}
	if r, _ := m.all.Routes.Get(x.At, index.ObjectKey(ref)); r != nil {
		return r.Parsed, true
	}
	return nil, false
}

// CompareRoutes is negative where the entry that b names, of a route, overrides the one that a names.
func (m *Model) CompareRoutes(a, b *api.Origin) int {
	return m.rankOfRoute(a).Compare(m.rankOfRoute(b))
}

// rankOfRoute is the place of the entry that an origin names.
func (m *Model) rankOfRoute(o *api.Origin) index.Rank {
	x, ok := m.mesh(o.Mesh)
	if !ok {
		return index.Rank{}
	}
	r, _ := m.all.Routes.Get(x.At, index.ObjectKey(o.Ref))
	if r == nil {
		return index.Rank{}
	}
	for i := range r.Parsed.Entries {
		if e := &r.Parsed.Entries[i]; o.To != nil && e.Index == *o.To {
			return r.Rank.Of(e.To, e.Index)
		}
	}
	return r.Rank
}

// attachableKinds are the kinds of policies and routes, sorted.
func (m *Model) attachableKinds() []string {
	var out []string
	for _, k := range m.all.Kinds {
		out = append(out, k.Name)
	}
	for _, d := range m.all.Dialects {
		for _, t := range d.Types {
			out = append(out, t.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Dialect is the language of documents of a kind; nil for what is no route.
func (m *Model) Dialect(kind string) *route.Dialect {
	d, _ := index.KindOf(m.all.Dialects, kind)
	return d
}

// IsRoute reports whether one of the route dialects has documents of the kind.
func (m *Model) IsRoute(kind string) bool {
	return m.Dialect(kind) != nil
}

// mesh is one mesh as a question sees it: what it looks at is counted.
type mesh struct{ conditions.Mesh }

// collections is how a mesh follows from its documents.
type collections struct {
	all   dataplanes.Mesh
	stage *pods.Stage // before all meshes
}

func newCollections(dialects []route.Dialect, kinds []*policies.Kind, in api.Zone) *collections {
	index := index.New(dialects, kinds, in).Mesh(nil)
	tables := tables.New(reachability.New(routing.New(services.New(hostnames.New(identity.New(index))))))
	return &collections{all: dataplanes.New(authorization.New(tables)), stage: pods.NewStage(index.ZoneLabels[api.LabelZone], in.UnselectingLabels()...)}
}

// IsAttachable reports whether the documents of a kind are policies or routes.
func (m *Model) IsAttachable(kind string) bool { return m.all.Attachable(kind) }

// told is what the meshes are to learn of a set of changes.
type told struct {
	byMesh map[string][]snapshot.Change
	common []derive.Change // of namespaces and generators of hostnames, which every mesh knows
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
