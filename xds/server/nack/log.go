package nack

import (
	"sync"
	"time"
)

// mostCauses is how many causes of refusals one sidecar may have logged within LogEvery.
const mostCauses = 16

// Log says which refusals of one sidecar are logged: each cause at most
// once in a while, and few causes, since a client may vary its words at will. It
// outlives the streams, so that who connects again gains nothing.
type Log struct {
	mu         sync.Mutex
	logged     map[string]time.Time // causes, and when they were logged last
	suppressed int                  // refusals that were not logged since the last that was
}

// Take reports whether a refusal is to be logged now, and how many were left
// out before it.
func (l *Log) Take(cause string, now time.Time, every time.Duration) (leftOut int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, at := range l.logged {
		if now.Sub(at) >= every {
			delete(l.logged, c)
		}
	}
	if _, again := l.logged[cause]; again || len(l.logged) >= mostCauses {
		l.suppressed++
		return 0, false
	}
	if l.logged == nil {
		l.logged = map[string]time.Time{}
	}
	l.logged[cause] = now
	leftOut, l.suppressed = l.suppressed, 0
	return leftOut, true
}
