package resolve

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// Kept is how much the model keeps of each mesh: what an update must leave behind
// no more and no less of than a compile makes.
func (m *Model) Kept() []string {
	var out []string
	if !m.cluster.Empty() {
		out = append(out, fmt.Sprintf("the cluster has %d names and %d reads, and %d objects more or elsewhere", m.cluster.Names(), m.cluster.Reads(), m.derived))
	}
	for o := range m.snapshot.All() {
		if o.Kind == api.KindDataplaneInsight { // in tests alone it is among what is written
			continue
		}
		out = append(out, o.Ref.String())
	}
	it := m.meshes.Root().Iterator()
	for name, g, ok := it.Next(); ok; name, g, ok = it.Next() {
		out = append(out, fmt.Sprintf("%s has %d names and %d reads", name, g.Names(), g.Reads()))
	}
	return out
}

// SelectedByLooking is Reader.Selected, found out by looking at every dataplane.
func (m *Model) SelectedByLooking(ref api.Ref) []api.Ref {
	x, ok := m.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	var out []api.Ref
	for p := range m.all.Dataplanes.Values(x.At) {
		if by := x.Policy(ref); by != nil && x.AuthorizesRoutes(by) {
			if x.AuthorizesDataplane(by, index.ObjectKey(p.Object.Ref)) {
				out = append(out, p.Object.Ref)
			}
		} else if conditions.AnySelects(x.SelectorsOf(ref), p) {
			out = append(out, p.Object.Ref)
		}
	}
	return out
}

// Means reports whether a ref, written in namespace home, means the first port of
// a service object, and whether an update would find it by the ref's name.
func Means(o *api.Object, ref api.TargetRef, home api.Home) (means, found bool) {
	d := index.NewService(o, nil).Dests[0]
	facts := services.FactsOf(d)
	name := index.TargetName(ref)
	return matcher.Destination(ref, home, &facts), name == index.Any || slices.Contains(d.LinkNames(), name)
}

// Meshes is how many meshes the model holds.
func (m *Model) Meshes() int { return m.meshes.Len() }

// Policies are the documents.
func (m *Matched) Policies() []*api.Object {
	out := make([]*api.Object, len(m.list))
	for i, p := range m.list {
		out[i] = p.Object
	}
	return out
}

// PlacesAfter is how the places of a mesh as they follow from those of an earlier model differ from
// those that are found anew.
func (m *Model) PlacesAfter(before *Model, mesh string) (difference string) {
	was, _ := before.mesh(mesh)
	now, _ := m.mesh(mesh)
	all := func(x *Model, in derive.At) iter.Seq2[string, *effective.Resolved] {
		if in == (*derive.Graph)(nil) {
			return func(func(string, *effective.Resolved) bool) {}
		}
		return x.all.Resolved.All(in)
	}
	resolved := func(x *Model, in derive.At) map[string]*effective.Resolved { return maps.Collect(all(x, in)) }
	had, has := resolved(before, was.At), resolved(m, now.At)
	changed := slices.DeleteFunc(slices.Concat(slices.Collect(maps.Keys(had)), slices.Collect(maps.Keys(has))), func(key string) bool { return had[key] == has[key] })
	slices.Sort(changed)
	everything := func(*effective.Destination) bool { return true }
	followed := impact.PlacementsOf(all(before, was.At), everything).Follow(slices.Compact(changed), func(key string) *effective.Resolved { return has[key] })
	return cmp.Diff(impact.PlacementsOf(all(m, now.At), everything), followed, cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.Comparer(same[effective.Resolved]), cmp.Comparer(same[effective.Outbound]), cmp.Comparer(same[effective.ClusterUse]), cmp.Comparer(same[effective.Inbound]),
		cmp.Comparer(same[effective.Destination]), cmpopts.IgnoreTypes((*effective.Derived)(nil)), cmpopts.EquateEmpty())
}

func same[T any](a, b *T) bool { return a == b }
