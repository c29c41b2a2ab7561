package server

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
)

// mostPause is the longest pause between the ends of two streams: a few need not take as
// long as many may.
const mostPause = 200 * time.Millisecond

// Drain ends all streams one after the other, over a time at most, or until ctx is over, so
// that their clients turn to another server little by little. New ones are refused at once;
// those that are left are served on.
func (s *Server) Drain(ctx context.Context, over time.Duration) {
	s.mu.Lock()
	s.refusing = true
	refs := slices.SortedFunc(maps.Keys(s.peers), api.Ref.Compare)
	s.mu.Unlock()
	Spread(ctx, over, refs, func(ref api.Ref) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p := s.peers[ref]; p != nil {
			for _, st := range p.streams {
				st.end(ErrClosed)
			}
		}
	})
}

// Spread does something with each of refs, the first at once, with equal pauses, over a time
// at most, until ctx is over.
func Spread(ctx context.Context, over time.Duration, refs []api.Ref, each func(api.Ref)) {
	pause, started := min(over/time.Duration(max(len(refs), 1)), mostPause), time.Now()
	for i, ref := range refs {
		timer := time.NewTimer(time.Until(started.Add(time.Duration(i) * pause)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		each(ref)
	}
}
