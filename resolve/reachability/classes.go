package reachability

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// ClassKey names a class of dataplanes at a destination: with bits, a digit for
// each of its selectors.
func ClassKey(id, bits string) string { return tuple.Append(id, bits) }

// CutClass is the destination of a class, and its bits.
func CutClass(key string) (id, bits string) {
	id, bits, _ = tuple.CutLast(key)
	return id, bits
}

// ClassOf is the key of the class of a dataplane at a destination.
func (m Mesh) ClassOf(id string, p *index.Dataplane) string {
	return m.classWith(id, p.SelectedBy)
}

// classWith is the key of the class of those whom the selectors select of which has says so.
func (m Mesh) classWith(id string, has func(*matcher.Selector) bool) string {
	s, failed := m.Selectors.Get(m.At, id)
	if failed != nil {
		return ClassKey(id, "") // which fails alike
	}
	return ClassKey(id, s.Bits(has))
}

// ClassesOf yields the classes of dataplanes that call a destination, by key.
func (m Mesh) ClassesOf(d *services.Destination) iter.Seq[string] {
	prefix := ClassKey(d.Key, "")
	own := m.byClass.Buckets(m.At, prefix)
	if d.Kind != api.KindHost {
		return own
	}
	all := slices.AppendSeq(slices.Collect(own), m.groupsByClass.Buckets(m.At, prefix))
	slices.Sort(all)
	return slices.Values(slices.Compact(all))
}

// PlanesOf yields the keys of the dataplanes of a class, in no order; one may come twice.
func (m Mesh) PlanesOf(class string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for key := range m.byClass.Keys(m.At, class) {
			if !yield(key) {
				return
			}
		}
		for group := range m.groupsByClass.Keys(m.At, class) {
			for key := range m.byGroup.Keys(m.At, group) {
				if !yield(key) {
					return
				}
			}
		}
	}
}
