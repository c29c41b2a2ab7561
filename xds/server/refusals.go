package server

import (
	"strings"
	"sync"
	"time"
)

// How much of what a client says of itself, or of a refusal, is read and kept. It
// is text of a client, of any length up to that of a message.
const (
	keptWords  = 4 << 10  // of the reason of a refusal: status, log, events and traces
	readWords  = 64 << 10 // of the same, to find names of resources in
	keptClaim  = 256      // of a node's id and of the name and version of its program
	mostCauses = 16       // of refusals that one sidecar may have logged within LogEvery
)

// cut is text up to a bound, which then keeps nothing of the rest alive.
func cut(text string, bound int) string {
	if len(text) <= bound {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	const end = " ... (cut)"
	return strings.ToValidUTF8(text[:bound-len(end)], "") + end
}

// refusalLog says which refusals of one sidecar are logged: each cause at most
// once in a while, and few causes, since a client may vary its words at will. It
// outlives the streams, so that who connects again gains nothing.
type refusalLog struct {
	mu         sync.Mutex
	logged     map[string]time.Time // causes, and when they were logged last
	suppressed int                  // refusals that were not logged since the last that was
}

// take reports whether a refusal is to be logged now, and how many were left
// out before it.
func (l *refusalLog) take(cause string, now time.Time, every time.Duration) (leftOut int, ok bool) {
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
