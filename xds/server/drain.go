package server

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/streams"
)

// Drain ends all streams one after the other, over a time at most, or until ctx is over, so
// that their clients turn to another server little by little. New ones are refused at once;
// those that are left are served on.
func (s *Server) Drain(ctx context.Context, over time.Duration) {
	s.mu.Lock()
	s.refusing = true
	refs := slices.SortedFunc(maps.Keys(s.peers), api.Ref.Compare)
	s.mu.Unlock()
	streams.Spread(ctx, over, refs, func(ref api.Ref) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p := s.peers[ref]; p != nil {
			for _, st := range p.streams {
				st.end(streams.ErrClosed)
			}
		}
	})
}
