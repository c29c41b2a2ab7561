package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// Derived is a model by derived collections.
type Derived struct {
	*collections
	meshes map[string]*derive.Graph
}

// NewDerived is empty.
func NewDerived(like *Model) *Derived {
	return &Derived{newCollections(like.dialects, like.kinds, like.zone), map[string]*derive.Graph{}}
}

// Update is Model.Update.
func (m *Derived) Update(changes []api.Change) (*Derived, Affected) {
	next := &Derived{m.collections, map[string]*derive.Graph{}}
	for name, g := range m.meshes {
		next.meshes[name] = g
	}
	byMesh := map[string][]derive.Change{}
	for _, ch := range changes {
		name := meshOf(ch.Ref())
		byMesh[name] = append(byMesh[name], m.written(ch.Ref().Kind).Put(objectKey(ch.Ref()), ch.After))
	}
	var affected Affected
	for name, list := range byMesh {
		before := next.meshes[name]
		if before == nil {
			before = m.schema.New()
		}
		after, delta := before.Update(list...)
		next.meshes[name] = after
		for _, key := range m.resolved.Changed(delta) {
			r, _ := m.resolved.Get(after, key)
			if r == nil {
				r, _ = m.resolved.Get(before, key)
			}
			affected.Dataplanes = append(affected.Dataplanes, r.Ref)
		}
	}
	slices.SortFunc(affected.Dataplanes, api.Ref.Compare)
	return next, affected
}

// Dataplane is Model.Dataplane.
func (m *Derived) Dataplane(ref api.Ref) (*Resolved, bool) {
	g := m.meshes[ref.Mesh]
	if g == nil {
		return nil, false
	}
	r, _ := m.resolved.Get(g, objectKey(ref))
	return r, r != nil
}

// Dataplanes is Model.Dataplanes of all meshes.
func (m *Derived) Dataplanes() []*Resolved {
	var out []*Resolved
	for _, g := range m.meshes {
		out = slices.AppendSeq(out, values(m.resolved.All(g)))
	}
	slices.SortFunc(out, func(a, b *Resolved) int { return a.Ref.Compare(b.Ref) })
	return out
}

// Failures are what failed to be derived.
func (m *Derived) Failures() []derive.Failure {
	var out []derive.Failure
	for _, g := range m.meshes {
		out = append(out, g.Failures()...)
	}
	return out
}

// Reads is how many reads are recorded.
func (m *Derived) Reads() int {
	n := 0
	for _, g := range m.meshes {
		n += g.Reads()
	}
	return n
}
