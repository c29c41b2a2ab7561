package nack

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/tuple"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// mostCauses is how many causes of refusals one sidecar may have logged within LogEvery.
const mostCauses = 16

// RefusalLog says which refusals of one sidecar are logged: each cause at most
// once in a while, and few causes, since a client may vary its words at will. It
// outlives the streams, so that who connects again gains nothing.
type RefusalLog struct {
	mu         sync.Mutex
	logged     map[string]time.Time // causes, and when they were logged last
	suppressed int                  // refusals that were not logged since the last that was
}

// Write writes that a dataplane refuses something, unless its cause was written less than every before n.
func (l *RefusalLog) Write(to *slog.Logger, dataplane api.Ref, n syncstatus.Nack, every time.Duration) {
	cause := tuple.Join(slices.Concat([]string{n.Type, n.Message}, n.Resources)...)
	if leftOut, ok := l.take(cause, n.At, every); ok {
		to.Warn("refused", "dataplane", dataplane.String(), "type", n.Type,
			"resources", n.Resources[:min(len(n.Resources), most)], "says", n.Message, "revision", n.Revision, "unlogged", leftOut)
	}
}

// take reports whether a refusal is to be logged now, and how many were left
// out before it.
func (l *RefusalLog) take(cause string, now time.Time, every time.Duration) (leftOut int, ok bool) {
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
