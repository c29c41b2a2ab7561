package resolve

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

// Kept is how much the model keeps of each mesh: what an update must leave behind
// no more and no less of than a compile makes.
func (m *Model) Kept() []string {
	var out []string
	if !m.cluster.Empty() {
		out = append(out, fmt.Sprintf("the cluster has %d names and %d reads, and %d objects more or elsewhere", m.cluster.Names(), m.cluster.Reads(), m.derived))
	}
	for o := range m.snapshot.All() {
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
	for p := range m.dataplanes.Values(x.at) {
		if by := x.policy(ref); by != nil && x.judges(by) {
			if x.judgedAtPlane(by, objectKey(p.object.Ref)) {
				out = append(out, p.object.Ref)
			}
		} else if anySelects(x.selectorsOf(ref), p) {
			out = append(out, p.object.Ref)
		}
	}
	return out
}

// Means reports whether a ref, written in namespace home, means the first port of
// a service object, and whether an update would find it by the ref's name.
func Means(o *api.Object, ref api.TargetRef, home api.Home) (means, found bool) {
	d := newService(o, nil).dests[0]
	facts := factsOf(d)
	name := targetName(ref)
	return matcher.Destination(ref, home, &facts), name == anyTarget || slices.Contains(d.linkNames(), name)
}

// Meshes is how many meshes the model holds.
func (m *Model) Meshes() int { return m.meshes.Len() }

// Policies are the documents.
func (m *Matched) Policies() []*api.Object {
	out := make([]*api.Object, len(m.list))
	for i, p := range m.list {
		out[i] = p.object
	}
	return out
}
