package xds

import (
	"sync"
	"weak"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// place is where and how an outbound listens.
type place struct {
	address    string
	port       uint32
	redirected bool // the dataplane's traffic is redirected to it
}

// ownOutbound is the listener of an outbound, and what is to say about it.
type ownOutbound struct {
	at       place
	listener *Resource
	notes    []api.Note
}

// shared are the listeners of all outbounds with the same configuration, one for
// each place, for as long as some outbound has it: places come and go with
// dataplanes. The lock guards the map; it never changes what is rendered.
type shared struct {
	mu      sync.Mutex
	known   map[place]weak.Pointer[ownOutbound]
	sweepAt int // how many there are before the forgotten ones are looked for
}

// get is the listener at a place. What is refused is not shared: its note names
// the dataplane.
func (s *shared) get(at place, render func() *ownOutbound) *ownOutbound {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.known[at].Value(); own != nil {
		return own
	}
	own := render()
	if own.listener == nil {
		return own
	}
	if s.known == nil {
		s.known = map[place]weak.Pointer[ownOutbound]{}
	}
	if len(s.known) >= s.sweepAt {
		for at, own := range s.known {
			if own.Value() == nil {
				delete(s.known, at)
			}
		}
		s.sweepAt = 2*len(s.known) + 8
	}
	s.known[at] = weak.Make(own)
	return own
}

// clusterForm is who calls a cluster.
type clusterForm uint8

const (
	plainForm   clusterForm = iota // proxies without an identity
	secureForm                     // those with one
	overADSForm                    // those whose certificate comes from the control plane
	clusterFormCount
)

// clusterForms are the renderings of one cluster, each made when the first one asks who calls it
// so, for as long as somebody has it: while mutual TLS is switched on a mesh needs two of each
// cluster, and one before and after. The lock guards what is known; it never changes what is
// rendered.
type clusterForms struct {
	mu      sync.Mutex
	made    [clusterFormCount]weak.Pointer[Resource]
	refused map[clusterForm][]api.Note // of those that Envoy would refuse
	grpc    effective.Memo             // for gRPC clients
}

func clusterFormsOf(beside *effective.Memo) *clusterForms {
	return beside.Do(func() any { return &clusterForms{} }).(*clusterForms)
}

// get is one of them, or why there is none.
func (s *clusterForms) get(f clusterForm, render func() (*Resource, []api.Note)) (*Resource, []api.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.made[f].Value(); r != nil {
		return r, nil
	}
	if notes, ok := s.refused[f]; ok {
		return nil, notes
	}
	r, notes := render()
	if r != nil {
		s.made[f] = weak.Make(r)
		return r, nil
	}
	if s.refused == nil {
		s.refused = map[clusterForm][]api.Note{}
	}
	s.refused[f] = notes
	return nil, notes
}
