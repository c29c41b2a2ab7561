package resolve

import (
	"fmt"
	"slices"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

// Kept is everything that the model keeps of its meshes, by name: what an update
// must leave behind no more and no less of than a compile makes.
func (m *Model) Kept() []string {
	var out []string
	for _, x := range collect(m.meshes.Root().Iterator()) {
		out = append(out, keysOf(x.name+" object", x.objects)...)
		out = append(out, keysOf(x.name+" link", x.links)...)
		out = append(out, keysOf(x.name+" destination", x.dests)...)
		out = append(out, keysOf(x.name+" dataplane", x.planes)...)
		out = append(out, x.roster.kept(x.name)...)
	}
	return out
}

// kept is whom a roster tells of, by key, and how many it has numbers for.
func (r roster) kept(mesh string) []string {
	out := []string{fmt.Sprintf("%s has %d numbers", mesh, len(r.keys)-len(r.free))}
	it := r.by.Root().Iterator()
	for k, set, ok := it.Next(); ok; k, set, ok = it.Next() {
		var keys []string
		for n := range set.all() {
			keys = append(keys, r.keys[n])
		}
		slices.Sort(keys)
		out = append(out, fmt.Sprintf("%s roster %q %q", mesh, k, keys))
	}
	return out
}

// SelectedByLooking is Reader.Selected, found out by looking at every dataplane.
func (m *Model) SelectedByLooking(ref api.Ref) []api.Ref {
	x, ok := m.meshes.Get([]byte(ref.Mesh))
	if !ok {
		return nil
	}
	o, _ := x.objects.Get([]byte(objectKey(ref)))
	var out []api.Ref
	for _, p := range collect(x.planes.Root().Iterator()) {
		if selected(x, o, p.plane) {
			out = append(out, p.resolved.Ref)
		}
	}
	return out
}

func keysOf[T any](what string, tree *iradix.Tree[T]) []string {
	var out []string
	it := tree.Root().Iterator()
	for k, _, ok := it.Next(); ok; k, _, ok = it.Next() {
		out = append(out, fmt.Sprintf("%s %q", what, k))
	}
	return out
}

// Means reports whether a ref, written in namespace home, means the first port of
// a service object, and whether an update would find it by the ref's name.
func Means(o *api.Object, ref api.TargetRef, home string) (means, found bool) {
	d := newService(o, nil).dests[0]
	facts := factsOf(d)
	name := targetName(ref)
	return matcher.Destination(ref, home, &facts), name == anyTarget || slices.Contains(d.linkNames(), name)
}

// Meshes is how many meshes the model holds.
func (m *Model) Meshes() int { return m.meshes.Len() }

// Remembered is how many clusters and endpoints of one destination are remembered.
func (m *Model) Remembered(mesh, id string) int {
	x, _ := m.meshes.Get([]byte(mesh))
	d := x.dest(id)
	n := len(d.members.subsets.answers)
	d.subjects.classes.Range(func(_, c any) bool {
		n += len(c.(*class).byTags.answers)
		return true
	})
	return n
}
