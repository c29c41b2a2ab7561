package impact

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
)

// moved is what becomes of places while some of their dataplanes change.
type moved struct {
	planes []int32 // by their numbers before; -1 of those that changed
	same   bool    // whether all others have the numbers that they had
	// touched are the places that a dataplane had that changed, or has now.
	touched map[PlacementKey]*arrivals
}

// arrivals are changed dataplanes that have a place now, and where each has it.
type arrivals struct {
	planes  []int32
	places  []Placement
	numbers []int32
}

func (m *moved) at(p Placement) *arrivals {
	key := p.Key()
	a := m.touched[key]
	if a == nil {
		a = &arrivals{}
		m.touched[key] = a
	}
	return a
}

func (a *arrivals) add(plane, number int32, p Placement) {
	if n := len(a.planes); n == 0 || a.planes[n-1] != plane {
		a.planes, a.places, a.numbers = append(a.planes, plane), append(a.places, p), append(a.numbers, number)
	}
}

// placements are those of before, as they are among the dataplanes of out.
func (m *moved) placements(before, out *Placements) []*placement {
	kept, again := make([]*placement, 0, len(before.placements)), []*placement(nil)
	for _, s := range before.placements {
		key := s.Key()
		if a := m.touched[key]; a != nil {
			if now := m.with(s, a, out); now != nil {
				again = append(again, now)
			}
			delete(m.touched, key)
			continue
		}
		if !m.same {
			now := *s
			now.planes = m.left(s)
			s = &now
		}
		kept = append(kept, s)
	}
	for _, a := range m.touched {
		if len(a.planes) > 0 {
			again = append(again, &placement{Placement: a.places[0], to: a.places[0].to(), number: a.numbers[0], planes: a.planes, became: new(effective.Derived)})
		}
	}
	inOrder := func(a, b *placement) int {
		return cmp.Or(cmp.Compare(a.planes[0], b.planes[0]), cmp.Compare(a.number, b.number))
	}
	slices.SortFunc(again, inOrder)
	all := make([]*placement, 0, len(kept)+len(again))
	for _, s := range kept {
		for len(again) > 0 && inOrder(again[0], s) < 0 {
			all, again = append(all, again[0]), again[1:]
		}
		all = append(all, s)
	}
	return append(all, again...)
}

// left are the dataplanes of a place that did not change.
func (m *moved) left(s *placement) []int32 {
	out := make([]int32, 0, len(s.planes))
	for _, n := range s.planes {
		if m.planes[n] >= 0 {
			out = append(out, m.planes[n])
		}
	}
	return out
}

// with is the spot of those that did not change and those that arrive; nil where nobody has it.
func (m *moved) with(s *placement, a *arrivals, out *Placements) *placement {
	now := &placement{became: s.became, planes: merged(m.left(s), a.planes)}
	if len(now.planes) == 0 {
		return nil
	}
	first := now.planes[0]
	if at, ok := slices.BinarySearch(a.planes, first); ok {
		now.Placement, now.number = a.places[at], a.numbers[at]
	} else if m.planes[s.planes[0]] == first {
		now.Placement, now.number = s.Placement, s.number
	} else {
		key := s.Key()
		for n, p := range placementsAt(out.Dataplanes[first]) {
			if p.Key() == key {
				now.Placement, now.number = p, n
				break
			}
		}
	}
	now.to = now.Placement.to()
	return now
}

// merged are the numbers of two sorted lists that have none in common, sorted.
func merged(a, b []int32) []int32 {
	if len(b) == 0 {
		return a
	}
	out := make([]int32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
