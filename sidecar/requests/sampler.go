package requests

import (
	"context"
	"sync"
	"time"

	"github.com/weftmesh/weft/xds/bootstrap"
)

// How many lines of failed requests come in a second (spec/telemetry.md L7): about as many as wanted, which is
// so from few to many.
const (
	linesWanted = 20
	linesFew    = 10
	linesMany   = 25
	// calmFor is for how many looks there are few before there are to be more.
	calmFor = 5
	// settling is until when after a change of the runtime a line may be of the share before it.
	settling = 100 * time.Millisecond
	// changesKept bounds what is known of earlier shares: lines come within a second.
	changesKept = 8
)

// Sampler decides of how many failed requests Envoy writes a line, and knows for how many requests one
// stands.
type Sampler struct {
	mu      sync.Mutex
	changes []change // the latest last; none: all
	lines   int      // since the look before
	settled bool     // no change since then
	calm    int      // looks with few lines
	life    any      // of Envoy, by which one that began again is known
}

// change is from when Envoy has a share.
type change struct {
	at  time.Time
	ppm uint32
}

// PPM is of how many of a million failed requests there is a line.
func (s *Sampler) PPM() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ppm()
}

func (s *Sampler) ppm() uint32 {
	if len(s.changes) == 0 {
		return bootstrap.AllErrors
	}
	return s.changes[len(s.changes)-1].ppm
}

// note counts a line, and returns for how many requests one stands that ended then. Around a change the
// larger share counts: a line of the time before that was taken for hundreds would be worse than a few that
// are taken for one.
func (s *Sampler) note(ended time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines++
	ppm := uint32(0)
	for i := len(s.changes) - 1; i >= 0; i-- {
		c := s.changes[i]
		if ended.Before(c.at) {
			continue
		}
		ppm = max(ppm, c.ppm)
		if ended.Sub(c.at) > settling {
			return bootstrap.AllErrors / float64(ppm)
		}
	}
	return 1 // of a time when there was a line of each
}

// Look is called once in a second: it tells Envoy, of which life is one and set changes the runtime, when
// there should be more lines or fewer. It fails where Envoy cannot be told, and tries again.
func (s *Sampler) Look(ctx context.Context, life any, set func(ctx context.Context, ppm uint32) error) error {
	ppm, differs := s.wanted(life)
	if !differs {
		return nil
	}
	if err := set(ctx, ppm); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.changes) == changesKept {
		s.changes = s.changes[1:]
	}
	s.changes = append(s.changes, change{time.Now(), ppm})
	s.settled, s.calm = false, 0
	return nil
}

// wanted is the share that there should be, and whether it is another one.
func (s *Sampler) wanted(life any) (ppm uint32, differs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, settled := s.lines, s.settled
	s.lines, s.settled = 0, true
	if life != s.life { // its runtime is that of its bootstrap
		s.life, s.changes, s.calm = life, nil, 0
		return 0, false
	}
	now := s.ppm()
	if life == nil || !settled { // lines of the share before are still coming
		return now, false
	}
	switch {
	case lines > linesMany:
		ppm = uint32(max(1, min(uint64(now)/2, uint64(now)*linesWanted/uint64(lines))))
	case lines < linesFew:
		if s.calm++; s.calm < calmFor {
			return now, false
		}
		ppm = min(bootstrap.AllErrors, 2*now)
	default:
		s.calm = 0
		return now, false
	}
	return ppm, ppm != now
}
