package impact

import (
	"slices"

	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// look finds the objects that are attached to a place, and takes down how their
// entries fare.
func (x *analyzer) look(s *placement) {
	at := s.attached()
	if at.Failure != nil {
		x.q.Fail(s.Placement)
	}
	list := at.List
	if len(x.numbers) == 1 {
		list = effective.AttachmentsOn(list, x.out[0].Ref)
	}
	last := -1
	for i := range list {
		a := &list[i]
		n, asked := x.numbers[a.Entry.Ref]
		if !asked {
			continue
		}
		if n != last {
			last = n
			x.attached[n] = append(x.attached[n], attachedPlacement{s, Loses})
			x.out[n].Placements = append(x.out[n].Placements, s.Placement)
		}
		if a.Acts != 0 {
			x.attached[n][len(x.attached[n])-1].how = Acts
		}
		x.out[n].entry(a.Entry.Field).add(a, s.Placement)
	}
}

// tell tells what became of every object, on the dataplanes in their order.
func (x *analyzer) tell(tell Visitor) {
	listens := make([][]int32, len(x.out)) // planes, by object
	for plane, key := range x.Placements.keys {
		for _, n := range x.edges[key] {
			listens[n] = append(listens[n], int32(plane))
		}
	}
	x.here, x.facts = make([]Presence, len(x.Placements.Dataplanes)), make([]*index.Dataplane, len(x.Placements.Dataplanes))
	for n := range x.out {
		for _, a := range x.attached[n] {
			for _, plane := range a.planes {
				x.is(plane, a.how)
			}
		}
		for _, plane := range listens[n] {
			x.is(plane, Acts)
		}
		for _, w := range x.wants[n] {
			x.missing(w)
		}
		if !slices.IsSorted(x.touched) {
			slices.Sort(x.touched)
		}
		for _, plane := range x.touched {
			tell(n, int(plane), x.Placements.Dataplanes[plane], x.here[plane])
			x.here[plane] = none
		}
		x.touched = x.touched[:0]
	}
}

func (x *analyzer) is(plane int32, p Presence) {
	if x.here[plane] == none {
		x.touched = append(x.touched, plane)
	}
	x.here[plane] = max(x.here[plane], p)
}

// missing finds the dataplanes that call a destination and do not have what the
// object is there.
func (x *analyzer) missing(w want) {
	for _, s := range x.calling[w.to] {
		for _, plane := range s.planes {
			if x.here[plane] == none && (w.among == nil || x.selects(w.among, plane)) && slices.ContainsFunc(w.selectors, func(by *matcher.Selector) bool { return x.selects(by, plane) }) {
				x.is(plane, Lacks)
			}
		}
	}
}

func (x *analyzer) selects(by *matcher.Selector, plane int32) bool {
	if x.facts[plane] == nil {
		x.facts[plane] = index.Need(x.mesh.Dataplanes, x.mesh.At, x.keys[plane])
	}
	return by.Selects(&x.facts[plane].Facts)
}
