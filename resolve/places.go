package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/policies"
)

// places are those of some dataplanes, each with the dataplanes that share it: what
// became of an object on all of them follows from the places that it is attached to.
type places struct {
	planes  []*Resolved
	keys    []string // of the planes
	spots   []*spot
	calling map[*Destination][]*spot // the outbounds to it
}

// spot is a place and the dataplanes that share it, by number.
type spot struct {
	Place
	to     *Destination // of an outbound or a cluster
	planes []int32
}

// outboundKey names the place of an outbound; outbounds with an equal one are alike.
type outboundKey struct {
	table *Table
	tcp   *TCPTable
	ps    **policies.Effective
}

// clusterKey names the place of a cluster, whoever answers behind it.
type clusterKey struct {
	cluster         *Cluster
	connectionsOnly bool
}

// placesOf are the places of dataplanes, by the keys of those: all inbounds, and of the
// rest what is about a destination that is wanted.
func placesOf(planes iter.Seq2[string, *Resolved], wanted func(*Destination) bool) *places {
	x := &places{calling: map[*Destination][]*spot{}}
	outbounds, clusters, inbounds := map[outboundKey]*spot{}, map[clusterKey]*spot{}, map[*Inbound]*spot{}
	for key, r := range planes {
		n := int32(len(x.planes))
		x.planes, x.keys = append(x.planes, r), append(x.keys, key)
		for _, o := range r.Outbounds {
			if !wanted(o.Destination) {
				continue
			}
			key := outboundKey{table: o.Table, tcp: o.TCP}
			if len(o.Policies) > 0 {
				key.ps = &o.Policies[0]
			}
			if s, isNew := share(outbounds, key, n); isNew {
				s.Place, s.to = Place{At: r, Outbound: o}, o.Destination
				x.spots, x.calling[s.to] = append(x.spots, s), append(x.calling[s.to], s)
			}
		}
		for i := range r.Clusters {
			c := &r.Clusters[i]
			if !wanted(c.Destination) {
				continue
			}
			if s, isNew := share(clusters, clusterKey{c.Cluster, c.ConnectionsOnly}, n); isNew {
				s.Place, s.to = Place{At: r, Cluster: c}, c.Destination
				x.spots = append(x.spots, s)
			}
		}
		for _, in := range r.Inbounds {
			if len(in.Policies)+len(in.Rules) == 0 {
				continue
			}
			if s, isNew := share(inbounds, in.Inbound, n); isNew {
				s.Place = Place{At: r, Inbound: in.Inbound}
				x.spots = append(x.spots, s)
			}
		}
	}
	return x
}

// share adds a dataplane to those that share a place.
func share[K comparable](spots map[K]*spot, key K, plane int32) (s *spot, isNew bool) {
	s = spots[key]
	if s == nil {
		s, isNew = &spot{}, true
		spots[key] = s
	}
	s.planes = append(s.planes, plane)
	return s, isNew
}

// allPlaces are the places of all dataplanes of a mesh, found out once for all questions
// about one revision.
func (q *Reader) allPlaces(x mesh, name string) *places {
	return q.asked(name).places.find(q, func() *places {
		found := placesOf(x.resolved.All(x.at), func(*Destination) bool { return true })
		for _, s := range found.spots {
			s.planes = slices.Clip(s.planes)
		}
		return found
	})
}
