package index

import (
	"cmp"
	"iter"
	"slices"

	"github.com/weftmesh/weft/matcher"
)

// Selecting yields the dataplanes that the selector selects, in the order of their
// keys. Of what the selector wants it takes what the fewest carry, and looks at
// those alone.
func (m Mesh) Selecting(s *matcher.Selector) iter.Seq[*Dataplane] {
	return func(yield func(*Dataplane) bool) {
		wants, possible := s.Wants()
		if !possible {
			return
		}
		among := m.Dataplanes.All(m.At)
		if names := wantedNames(wants); len(names) > 0 {
			among = m.dataplanesByLabel.In(m.At, slices.MinFunc(names, func(a, b string) int {
				return cmp.Compare(m.dataplanesByLabel.Len(m.At, a), m.dataplanesByLabel.Len(m.At, b))
			}))
		}
		for _, p := range among {
			if s.Selects(&p.Facts) && !yield(p) {
				return
			}
		}
	}
}

// wantedNames are the names under which the roster has what is wanted.
func wantedNames(w matcher.Wants) []string {
	var out []string
	if w.Name != "" {
		out = append(out, LabelKey(ownName, w.Name))
	}
	for _, n := range w.Namespaces {
		out = append(out, LabelKey(ownNamespace, n))
	}
	if w.Gateway {
		out = append(out, LabelKey(OwnType, Gateway))
	}
	for k, v := range w.Labels {
		out = append(out, LabelKey(k, v))
	}
	for k, v := range w.Tags {
		out = append(out, LabelKey(k, v))
	}
	return out
}

// Selects reports whether one of the selectors selects any dataplane.
func (m Mesh) Selects(selectors ...*matcher.Selector) bool {
	return slices.ContainsFunc(selectors, func(s *matcher.Selector) bool {
		for range m.Selecting(s) {
			return true
		}
		return false
	})
}
