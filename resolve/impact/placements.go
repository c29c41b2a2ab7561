package impact

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// Placements are those of some dataplanes, each with the dataplanes that share it: what
// became of an object on all of them follows from the places that it is attached to.
type Placements struct {
	Dataplanes []*effective.Resolved
	keys       []string // of the planes, sorted
	// placements are in the order of the first dataplane that has them, and of that one.
	placements []*placement
	calling    map[*effective.Destination][]*placement // the outbounds to it
}

// placement is a place and the dataplanes that share it, by number. Nobody changes one that others know.
type placement struct {
	Placement
	to     *effective.Destination // of an outbound or a cluster
	number int32                  // among the places of the first dataplane
	planes []int32                // sorted, each once
	became *effective.Derived     // beside what is shared
}

// attached is what became of entries there, worked out once for all who share the place.
func (s *placement) attached() *effective.Attached {
	return s.became.Do(func() any { return s.Placement.attached() }).(*effective.Attached)
}

// PlacementKey names a place: those with an equal one are alike. Of outbounds these are the tables and
// the policies of the listener, of clusters it is the cluster, whoever answers behind it.
type PlacementKey struct {
	table           *effective.Table
	tcp             *effective.TCPTable
	ps              **policies.Effective
	cluster         *effective.Cluster
	connectionsOnly bool
	inbound         *effective.Inbound
	whole           *effective.Whole
}

// Key is the same for places that share what applies there.
func (p Placement) Key() PlacementKey {
	switch {
	case p.Outbound != nil:
		key := PlacementKey{table: p.Outbound.Table, tcp: p.Outbound.TCP}
		if len(p.Outbound.Policies) > 0 {
			key.ps = &p.Outbound.Policies[0]
		}
		return key
	case p.Cluster != nil:
		return PlacementKey{cluster: p.Cluster.Cluster, connectionsOnly: p.Cluster.ConnectionsOnly}
	}
	return PlacementKey{inbound: p.Inbound, whole: p.Whole}
}

// to is the destination of an outbound or a cluster.
func (p Placement) to() *effective.Destination {
	switch {
	case p.Outbound != nil:
		return p.Outbound.Destination
	case p.Cluster != nil:
		return p.Cluster.Destination
	}
	return nil
}

// placementsAt yields those of a dataplane, by number.
func placementsAt(r *effective.Resolved) iter.Seq2[int32, Placement] {
	return func(yield func(int32, Placement) bool) {
		n := int32(0)
		for _, o := range r.Outbounds {
			if !yield(n, Placement{At: r, Outbound: o}) {
				return
			}
			n++
		}
		for i := range r.Clusters {
			if !yield(n, Placement{At: r, Cluster: &r.Clusters[i]}) {
				return
			}
			n++
		}
		for _, in := range r.Inbounds {
			if len(in.Policies)+len(in.Rules) == 0 {
				continue
			}
			if !yield(n, Placement{At: r, Inbound: in.Inbound}) {
				return
			}
			n++
		}
		if r.Whole != nil {
			yield(n, Placement{At: r, Whole: r.Whole})
		}
	}
}

// PlacementsOf are the places of dataplanes, by the keys of those: all inbounds and wholes, and of the
// rest what is about a destination that is wanted.
func PlacementsOf(planes iter.Seq2[string, *effective.Resolved], wanted func(*effective.Destination) bool) *Placements {
	x, known := &Placements{}, map[PlacementKey]*placement{}
	for key, r := range planes {
		plane := int32(len(x.Dataplanes))
		x.Dataplanes, x.keys = append(x.Dataplanes, r), append(x.keys, key)
		for n, p := range placementsAt(r) {
			to := p.to()
			if to != nil && !wanted(to) {
				continue
			}
			key := p.Key()
			s := known[key]
			if s == nil {
				s = &placement{Placement: p, to: to, number: n, became: new(effective.Derived)}
				known[key], x.placements = s, append(x.placements, s)
			}
			s.add(plane)
		}
	}
	x.index()
	return x
}

// add adds a dataplane that comes after all others.
func (s *placement) add(plane int32) {
	if n := len(s.planes); n == 0 || s.planes[n-1] != plane {
		s.planes = append(s.planes, plane)
	}
}

// index finds the outbounds to destinations.
func (x *Placements) index() {
	x.calling = make(map[*effective.Destination][]*placement, len(x.placements)/4)
	for _, s := range x.placements {
		if s.Outbound != nil {
			x.calling[s.to] = append(x.calling[s.to], s)
		}
	}
}

// attached is what became of entries at the place.
func (p Placement) attached() *effective.Attached {
	switch {
	case p.Outbound != nil:
		return p.Outbound.Attached()
	case p.Cluster != nil:
		return p.Cluster.Attached()
	case p.Whole != nil:
		return p.Whole.Attached()
	}
	return p.Inbound.Attached()
}

// Failure is the bug that keeps what became of entries at the place from being
// worked out; nil for none.
func (p Placement) Failure() any { return p.attached().Failure }

// AllPlacements are those of all dataplanes, as they are kept.
func AllPlacements(planes iter.Seq2[string, *effective.Resolved]) *Placements {
	found := PlacementsOf(planes, func(*effective.Destination) bool { return true })
	for _, s := range found.placements {
		s.planes = slices.Clip(s.planes)
	}
	return found
}

// Follow is x after changes of dataplanes, by key, sorted; now is what each of them is, nil where it
// is gone. What they do not have stays in one piece.
func (x *Placements) Follow(changed []string, now func(key string) *effective.Resolved) *Placements {
	out := &Placements{Dataplanes: make([]*effective.Resolved, 0, len(x.Dataplanes)+len(changed)), keys: make([]string, 0, len(x.keys)+len(changed))}
	m := &moved{planes: make([]int32, len(x.Dataplanes)), same: true, touched: map[PlacementKey]*arrivals{}}
	for i := 0; i < len(x.keys) || len(changed) > 0; {
		if len(changed) == 0 || i < len(x.keys) && x.keys[i] < changed[0] {
			m.planes[i] = int32(len(out.keys))
			m.same = m.same && int(m.planes[i]) == i
			out.Dataplanes, out.keys = append(out.Dataplanes, x.Dataplanes[i]), append(out.keys, x.keys[i])
			i++
			continue
		}
		if i < len(x.keys) && x.keys[i] == changed[0] {
			m.planes[i] = -1
			for _, p := range placementsAt(x.Dataplanes[i]) {
				m.at(p)
			}
			i++
		}
		if r := now(changed[0]); r != nil {
			plane := int32(len(out.keys))
			out.Dataplanes, out.keys = append(out.Dataplanes, r), append(out.keys, changed[0])
			for n, p := range placementsAt(r) {
				m.at(p).add(plane, n, p)
			}
		}
		changed = changed[1:]
	}
	out.placements = m.placements(x, out)
	out.index()
	return out
}
