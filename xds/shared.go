package xds

import (
	"sync"
	"weak"

	"github.com/weftmesh/weft/api"
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
