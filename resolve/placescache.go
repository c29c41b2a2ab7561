package resolve

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
)

// changedSince are the dataplanes that came out differently since something was known of all, by key.
type changedSince struct {
	lists [][]string
	size  int
}

// and are those with more; c stays as it is.
func (c changedSince) and(more []string) changedSince {
	return changedSince{append(slices.Clip(c.lists), more), c.size + len(more)}
}

// keys are they, each once.
func (c changedSince) keys() []string {
	all := slices.Concat(c.lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// placesSince is where the places of an earlier revision are, and what changed since.
type placesSince struct {
	known   *places
	changed changedSince
}

// nextPlaces is what is known of them after an update; nil where finding them anew costs no more.
func (a *asked) nextPlaces(changed []string) *placesSince {
	was := a.placesSince
	if known := a.places.at.Load(); known != nil {
		was = &placesSince{known: known}
	}
	if was == nil || was.changed.size+len(changed) > len(was.known.planes)/2 {
		return nil
	}
	return &placesSince{was.known, was.changed.and(changed)}
}

// allPlaces are the places of all dataplanes of a mesh, found out once for all questions
// about one revision: by what changed since somebody asked of an earlier one.
func (q *Reader) allPlaces(x mesh, name string) *places {
	a := q.asked(name)
	return a.places.find(q, func() *places {
		if since := a.placesSince; since != nil {
			return since.known.follow(since.changed.keys(), func(key string) *effective.Resolved {
				r, _ := x.Resolved.Get(x.At, key)
				return r
			})
		}
		found := placesOf(x.Resolved.All(x.At), func(*effective.Destination) bool { return true })
		for _, s := range found.spots {
			s.planes = slices.Clip(s.planes)
		}
		return found
	})
}

// moved is what becomes of places while some of their dataplanes change.
type moved struct {
	planes []int32 // by their numbers before; -1 of those that changed
	same   bool    // whether all others have the numbers that they had
	// touched are the places that a dataplane had that changed, or has now.
	touched map[placeKey]*arrivals
}

// arrivals are changed dataplanes that have a place now, and where each has it.
type arrivals struct {
	planes  []int32
	places  []Place
	numbers []int32
}

func (m *moved) at(p Place) *arrivals {
	key := p.key()
	a := m.touched[key]
	if a == nil {
		a = &arrivals{}
		m.touched[key] = a
	}
	return a
}

// follow is x after changes of dataplanes, by key, sorted; now is what each of them is, nil where it
// is gone. What they do not have stays in one piece.
func (x *places) follow(changed []string, now func(key string) *effective.Resolved) *places {
	out := &places{planes: make([]*effective.Resolved, 0, len(x.planes)+len(changed)), keys: make([]string, 0, len(x.keys)+len(changed))}
	m := &moved{planes: make([]int32, len(x.planes)), same: true, touched: map[placeKey]*arrivals{}}
	for i := 0; i < len(x.keys) || len(changed) > 0; {
		if len(changed) == 0 || i < len(x.keys) && x.keys[i] < changed[0] {
			m.planes[i] = int32(len(out.keys))
			m.same = m.same && int(m.planes[i]) == i
			out.planes, out.keys = append(out.planes, x.planes[i]), append(out.keys, x.keys[i])
			i++
			continue
		}
		if i < len(x.keys) && x.keys[i] == changed[0] {
			m.planes[i] = -1
			for _, p := range placesAt(x.planes[i]) {
				m.at(p)
			}
			i++
		}
		if r := now(changed[0]); r != nil {
			plane := int32(len(out.keys))
			out.planes, out.keys = append(out.planes, r), append(out.keys, changed[0])
			for n, p := range placesAt(r) {
				m.at(p).add(plane, n, p)
			}
		}
		changed = changed[1:]
	}
	out.spots = m.spots(x, out)
	out.index()
	return out
}

func (a *arrivals) add(plane, number int32, p Place) {
	if n := len(a.planes); n == 0 || a.planes[n-1] != plane {
		a.planes, a.places, a.numbers = append(a.planes, plane), append(a.places, p), append(a.numbers, number)
	}
}

// spots are those of before, as they are among the dataplanes of out.
func (m *moved) spots(before, out *places) []*spot {
	kept, again := make([]*spot, 0, len(before.spots)), []*spot(nil)
	for _, s := range before.spots {
		key := s.key()
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
			again = append(again, &spot{Place: a.places[0], to: a.places[0].to(), number: a.numbers[0], planes: a.planes, became: new(effective.Memo)})
		}
	}
	inOrder := func(a, b *spot) int {
		return cmp.Or(cmp.Compare(a.planes[0], b.planes[0]), cmp.Compare(a.number, b.number))
	}
	slices.SortFunc(again, inOrder)
	all := make([]*spot, 0, len(kept)+len(again))
	for _, s := range kept {
		for len(again) > 0 && inOrder(again[0], s) < 0 {
			all, again = append(all, again[0]), again[1:]
		}
		all = append(all, s)
	}
	return append(all, again...)
}

// left are the dataplanes of a place that did not change.
func (m *moved) left(s *spot) []int32 {
	out := make([]int32, 0, len(s.planes))
	for _, n := range s.planes {
		if m.planes[n] >= 0 {
			out = append(out, m.planes[n])
		}
	}
	return out
}

// with is the spot of those that did not change and those that arrive; nil where nobody has it.
func (m *moved) with(s *spot, a *arrivals, out *places) *spot {
	now := &spot{became: s.became, planes: merged(m.left(s), a.planes)}
	if len(now.planes) == 0 {
		return nil
	}
	first := now.planes[0]
	if at, ok := slices.BinarySearch(a.planes, first); ok {
		now.Place, now.number = a.places[at], a.numbers[at]
	} else if m.planes[s.planes[0]] == first {
		now.Place, now.number = s.Place, s.number
	} else {
		key := s.key()
		for n, p := range placesAt(out.planes[first]) {
			if p.key() == key {
				now.Place, now.number = p, n
				break
			}
		}
	}
	now.to = now.Place.to()
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
