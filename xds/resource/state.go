package resource

import (
	"iter"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// State is all that one sidecar holds, each list sorted by name. Route tables,
// clusters and endpoints are shared: two sidecars to which the same applies
// hold the same pointers, and so do two renderings of an unchanged value.
type State struct {
	Listeners, Routes, Clusters, Endpoints, Secrets []*Resource
	// Notes are what could not be rendered as its writer meant.
	Notes []api.Note
}

// Add appends r to one of the lists, unless it could not be rendered, and what there is to say.
func (s *State) Add(list *[]*Resource, r *Resource, notes []api.Note) {
	s.Notes = append(s.Notes, notes...)
	if r != nil {
		*list = append(*list, r)
	}
}

// Over is s with what before had and s has not: where a bug keeps from being known
// all that applies, nothing is known to be gone.
func (s *State) Over(before *State) *State {
	out := &State{Notes: s.Notes}
	now, was := s.lists(), before.lists()
	for i, list := range out.lists() {
		*list = byName(append(slices.Clone(*now[i]), *was[i]...))
	}
	return out
}

func (s *State) lists() []*[]*Resource {
	return []*[]*Resource{&s.Listeners, &s.Routes, &s.Clusters, &s.Endpoints, &s.Secrets}
}

// byName sorts a list, and keeps the first of each name.
func byName(list []*Resource) []*Resource {
	slices.SortStableFunc(list, func(a, b *Resource) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b *Resource) bool { return a.Name == b.Name })
}

// Sort brings each list into its order, and keeps one of each name, with what there is to say of it.
func (s *State) Sort() {
	for _, list := range s.lists() {
		*list = byName(*list)
		for _, r := range *list {
			s.Notes = append(s.Notes, r.Notes...)
		}
	}
}

// All yields the resources of all types, each list in its order.
func (s *State) All() iter.Seq[*Resource] {
	return func(yield func(*Resource) bool) {
		for _, list := range [][]*Resource{s.Listeners, s.Routes, s.Clusters, s.Endpoints, s.Secrets} {
			for _, r := range list {
				if !yield(r) {
					return
				}
			}
		}
	}
}
