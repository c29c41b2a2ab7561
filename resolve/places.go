package resolve

import (
	"iter"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// places are those of some dataplanes, each with the dataplanes that share it: what
// became of an object on all of them follows from the places that it is attached to.
type places struct {
	planes []*effective.Resolved
	keys   []string // of the planes, sorted
	// spots are in the order of the first dataplane that has them, and of that one.
	spots   []*spot
	calling map[*effective.Destination][]*spot // the outbounds to it
}

// spot is a place and the dataplanes that share it, by number. Nobody changes one that others know.
type spot struct {
	Place
	to     *effective.Destination // of an outbound or a cluster
	number int32                  // among the places of the first dataplane
	planes []int32                // sorted, each once
	became *effective.Memo        // beside what is shared
}

// attached is what became of entries there, worked out once for all who share the place.
func (s *spot) attached() *effective.Attached {
	return s.became.Do(func() any { return s.Place.attached() }).(*effective.Attached)
}

// placeKey names a place: those with an equal one are alike. Of outbounds these are the tables and
// the policies of the listener, of clusters it is the cluster, whoever answers behind it.
type placeKey struct {
	table           *effective.Table
	tcp             *effective.TCPTable
	ps              **policies.Effective
	cluster         *effective.Cluster
	connectionsOnly bool
	inbound         *effective.Inbound
}

func (p Place) key() placeKey {
	switch {
	case p.Outbound != nil:
		key := placeKey{table: p.Outbound.Table, tcp: p.Outbound.TCP}
		if len(p.Outbound.Policies) > 0 {
			key.ps = &p.Outbound.Policies[0]
		}
		return key
	case p.Cluster != nil:
		return placeKey{cluster: p.Cluster.Cluster, connectionsOnly: p.Cluster.ConnectionsOnly}
	}
	return placeKey{inbound: p.Inbound}
}

// to is the destination of an outbound or a cluster.
func (p Place) to() *effective.Destination {
	switch {
	case p.Outbound != nil:
		return p.Outbound.Destination
	case p.Cluster != nil:
		return p.Cluster.Destination
	}
	return nil
}

// placesAt yields those of a dataplane, by number.
func placesAt(r *effective.Resolved) iter.Seq2[int32, Place] {
	return func(yield func(int32, Place) bool) {
		n := int32(0)
		for _, o := range r.Outbounds {
			if !yield(n, Place{At: r, Outbound: o}) {
				return
			}
			n++
		}
		for i := range r.Clusters {
			if !yield(n, Place{At: r, Cluster: &r.Clusters[i]}) {
				return
			}
			n++
		}
		for _, in := range r.Inbounds {
			if len(in.Policies)+len(in.Rules) == 0 {
				continue
			}
			if !yield(n, Place{At: r, Inbound: in.Inbound}) {
				return
			}
			n++
		}
	}
}

// placesOf are the places of dataplanes, by the keys of those: all inbounds, and of the
// rest what is about a destination that is wanted.
func placesOf(planes iter.Seq2[string, *effective.Resolved], wanted func(*effective.Destination) bool) *places {
	x, known := &places{}, map[placeKey]*spot{}
	for key, r := range planes {
		plane := int32(len(x.planes))
		x.planes, x.keys = append(x.planes, r), append(x.keys, key)
		for n, p := range placesAt(r) {
			to := p.to()
			if to != nil && !wanted(to) {
				continue
			}
			key := p.key()
			s := known[key]
			if s == nil {
				s = &spot{Place: p, to: to, number: n, became: new(effective.Memo)}
				known[key], x.spots = s, append(x.spots, s)
			}
			s.add(plane)
		}
	}
	x.index()
	return x
}

// add adds a dataplane that comes after all others.
func (s *spot) add(plane int32) {
	if n := len(s.planes); n == 0 || s.planes[n-1] != plane {
		s.planes = append(s.planes, plane)
	}
}

// index finds the outbounds to destinations.
func (x *places) index() {
	x.calling = make(map[*effective.Destination][]*spot, len(x.spots)/4)
	for _, s := range x.spots {
		if s.Outbound != nil {
			x.calling[s.to] = append(x.calling[s.to], s)
		}
	}
}

// attached is what became of entries at the place.
func (p Place) attached() *effective.Attached {
	switch {
	case p.Outbound != nil:
		return p.Outbound.Attached()
	case p.Cluster != nil:
		return p.Cluster.Attached()
	}
	return p.Inbound.Attached()
}

// Failure is the bug that keeps what became of entries at the place from being
// worked out; nil for none.
func (p Place) Failure() any { return p.attached().Failure }
