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
