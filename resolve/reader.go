package resolve

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/route"
)

// Reader looks at a model to answer one question. It counts the values that it
// looks at, which is what the question costs, and looks no further when nobody
// waits for the answer any more; what was found by then is then incomplete.
// A Reader is for one goroutine.
type Reader struct {
	*Model
	failed   []impact.Placement
	failures []Failure // of the model, since somebody asked
	visited  int
	gone     func() bool
	left     bool
}

// Reader reads m; gone may be nil, for somebody who always waits.
func (m *Model) Reader(gone func() bool) *Reader { return &Reader{Model: m, gone: gone} }

// Visited is how many values were looked at: dataplanes, shared values such as
// tables, documents.
func (q *Reader) Visited() int { return q.visited }

// Failed are the places at which following objects met a bug, so that nobody knows
// what is attached there; each shared value once.
func (q *Reader) Failed() []impact.Placement { return q.failed }

// lookAgain is after how many values the Reader asks whether somebody waits.
const lookAgain = 64

// visit counts one value. It is false when nobody waits any more.
func (q *Reader) visit() bool {
	q.visited++
	if q.gone != nil && q.visited%lookAgain == 0 && q.gone() {
		q.left = true
	}
	return !q.left
}

// Visit counts a value that somebody else looks at for the question; false as
// soon as nobody waits for the answer.
func (q *Reader) Visit() bool { return q.visit() }

// Dataplanes yields all of a mesh ("" for all meshes) in the order of their refs.
func (q *Reader) Dataplanes(mesh string) iter.Seq[*effective.Resolved] {
	return counted(q, q.Model.Dataplanes(mesh))
}

// MeshNames yields the names of all meshes of which there is something, in their order.
func (q *Reader) MeshNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		it := q.meshes.Root().Iterator()
		for name, _, ok := it.Next(); ok; name, _, ok = it.Next() {
			if !yield(string(name)) {
				return
			}
		}
	}
}

// mesh is one of the model's as the question sees it: what is looked at in it is
// counted.
func (q *Reader) mesh(name string) (mesh, bool) {
	g, ok := q.meshes.Get([]byte(name))
	return q.at(derive.Counted(g.Graph, q.visit)), ok
}

// Destinations yields those of a mesh in the order of their ids.
func (q *Reader) Destinations(mesh string) iter.Seq[*effective.Destination] {
	return counted(q, q.Model.Destinations(mesh))
}

// Attachable yields the policies and routes of a mesh in the order of their refs.
func (q *Reader) Attachable(mesh string) iter.Seq[*api.Object] {
	return counted(q, func(yield func(*api.Object) bool) {
		for _, kind := range q.attachableKinds() {
			for o := range q.snapshot.Of(kind, mesh) {
				if !yield(o) {
					return
				}
			}
		}
	})
}

// CountAttachable is how many policies and routes of a mesh there are, of those kinds that count.
func (q *Reader) CountAttachable(mesh string, counts func(kind string) bool) (n int) {
	for _, kind := range q.attachableKinds() {
		if counts(kind) {
			n += q.snapshot.Count(kind, mesh)
		}
	}
	return n
}

func counted[T any](q *Reader, seq iter.Seq[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range seq {
			if !q.visit() || !yield(v) {
				return
			}
		}
	}
}

// See shows the documents of a mesh as they are now.
func (q *Reader) See(name string) route.Lister {
	x, ok := q.mesh(name)
	if !ok {
		return nothing{}
	}
	return index.Lister{Mesh: x.Index()}
}

// nothing is a mesh without documents.
type nothing struct{}

func (nothing) Zone() api.Zone                                  { return api.Zone{} }
func (nothing) Object(api.Ref) (*api.Object, bool)              { return nil, false }
func (nothing) Objects(string, map[string]string) []*api.Object { return nil }
func (nothing) Keyed(string, string) []*api.Object              { return nil }
func (nothing) Shares(*api.Object, string) bool                 { return true }

// Selected are the dataplanes that the top-level targetRef of a policy or route
// selects, whatever they call, sorted.
func (q *Reader) Selected(ref api.Ref) []api.Ref {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	var refs []api.Ref // some twice
	if p := x.Policy(ref); p != nil && x.AuthorizesRoutes(p) {
		for at := range x.PlacementsOf(p) {
			refs = append(refs, index.Need(x.Dataplanes, x.At, at.Plane).Object.Ref)
		}
	} else {
		for _, s := range x.SelectorsOf(ref) {
			for p := range x.Selecting(s) {
				refs = append(refs, p.Object.Ref)
			}
		}
	}
	if !slices.IsSortedFunc(refs, api.Ref.Compare) {
		slices.SortFunc(refs, api.Ref.Compare)
	}
	return slices.Compact(refs)
}

// SelectsAny reports whether the top-level targetRef of a policy or route selects
// a dataplane.
func (q *Reader) SelectsAny(ref api.Ref) bool {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return false
	}
	if p := x.Policy(ref); p != nil && x.AuthorizesRoutes(p) {
		for range x.PlacementsOf(p) {
			return true
		}
		return false
	}
	return x.Selects(x.SelectorsOf(ref)...)
}

// RoutesOf are the routes that a policy's top-level targetRef, or else its items,
// name; each once.
func (q *Reader) RoutesOf(ref api.Ref) []*route.ParsedRoute {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	p := x.Policy(ref)
	if p == nil {
		return nil
	}
	var out []*route.ParsedRoute
	for _, it := range slices.Concat(p.Items, p.Inbound) {
		if at := it.RouteRef(); at != nil {
			for r := range x.SelectedRoutes(at, p.Object.Home()) {
				if !slices.Contains(out, r.Parsed) {
					out = append(out, r.Parsed)
				}
			}
		}
	}
	return out
}

// ImpactOf follows policies and routes of one mesh to the dataplanes that they concern, and
// tells for one object after the other about each of those once, in the order of refs. Its
// cost follows what the objects are about: who calls their destinations, or has inbounds
// that they select.
func (q *Reader) ImpactOf(mesh string, refs []api.Ref, tell impact.Visitor) []*impact.Impact {
	m, ok := q.mesh(mesh)
	if !ok {
		return impact.Unknown(refs)
	}
	return impact.ImpactOf(impact.Query{
		Visit: q.visit, Fail: func(p impact.Placement) { q.failed = append(q.failed, p) }, All: m.allPlacements,
		Dataplanes: q.snapshot.Count(api.KindDataplane, mesh),
	}, m.Mesh.Mesh, refs, tell)
}

// Unserved are the errors of routes for a host: why they, or a part of them, are not served
// there.
func (q *Reader) Unserved(mesh, host string) []api.Note {
	x, ok := q.mesh(mesh)
	if !ok {
		return nil
	}
	var out []api.Note
	for r := range x.RoutesByTarget.Values(x.At, host) {
		if !slices.ContainsFunc(r.Parsed.Entries, func(e route.Entry) bool { return e.To.Kind == api.KindHost && e.To.Name == host }) {
			continue
		}
		for _, n := range r.Parsed.Notes {
			if n.Severity == api.Error && n.Origin.Ref == r.Object.Ref {
				out = append(out, n)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b api.Note) int { return a.Origin.Ref.Compare(b.Origin.Ref) })
	return out
}

// Unanswered is a service without a ready endpoint.
type Unanswered struct {
	ID     string
	Object *api.Object // nil of a kuma.io/service
	// Why says what keeps endpoints away, for people, with what to do.
	Why string
}

// Unanswered are the services of a mesh for which nobody answers though somebody is to, in the order of their
// ids. Its cost is that of what it tells.
func (q *Reader) Unanswered(mesh string) (out []Unanswered) {
	x, ok := q.mesh(mesh)
	if !ok {
		return nil
	}
	for id, m := range x.MembersIdle.In(x.At, index.Any) {
		d, _ := x.Destinations.Get(x.At, id)
		if d != nil {
			out = append(out, Unanswered{d.ID, d.Object, d.WhyIdle(m)})
		}
	}
	return out
}

// EdgesOf are the edge dataplanes of which a route object says where they listen, by ref.
func (q *Reader) EdgesOf(ref api.Ref) []*api.Object {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	var out []*api.Object
	if r := x.Route(ref); r != nil {
		for p := range x.EdgesNamed(r.Parsed.Edges) {
			out = append(out, p.Object)
		}
	}
	return out
}

// CallsAs names the dataplanes whose workloads may call the same as that of one; empty where
// it calls nothing by a name.
func (m *Model) CallsAs(dp api.Ref) string {
	x, ok := m.mesh(dp.Mesh)
	if !ok {
		return ""
	}
	if k, _ := m.all.HostnamesKeys.Get(x.At, index.ObjectKey(dp)); k != nil {
		return *k
	}
	return ""
}

// NamesFor reports whether workloads of a dataplane call d by one of its Hostnames, as far as it is theirs to
// have: where hosts are owned a name is one in d's own namespace, unless a grant gives it to d elsewhere too.
func (m *Model) NamesFor(from api.Ref, d *effective.Destination, name string) bool {
	r, ok := m.Dataplane(from)
	if !ok || r.Dataplane == nil {
		return true
	}
	x, _ := m.mesh(from.Mesh)
	to := x.Destination(d.ID)
	return to == nil || x.SeesName(r.Dataplane.HomeNamespace(), to, strings.ToLower(name))
}

// Hostnames are the names for those that CallsAs names, of a mesh. Where nothing that they
// follow from has changed since before, which another model said of the same callers, it is
// before; nil for none. Else it looks at everything that has an address, so whoever asks for
// several dataplanes asks once for those of one key.
func (m *Model) Hostnames(mesh, callsAs string, before *reachability.Hostnames) *reachability.Hostnames {
	x, ok := m.mesh(mesh)
	var k reachability.Caller
	if !ok || json.Unmarshal([]byte(callsAs), &k) != nil {
		return &reachability.Hostnames{}
	}
	return x.HostnamesFor(&k, before)
}

// Callers is how many dataplanes of a mesh may call something by a name.
func (m *Model) Callers(mesh string) int {
	x, ok := m.mesh(mesh)
	if !ok {
		return 0
	}
	return m.all.HostnamesCallers.Len(x.At, index.Any)
}
