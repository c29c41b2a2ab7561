package issuer

import (
	"sync"

	"github.com/weftmesh/weft/api"
)

// mostTexts is of how many dataplanes the last text is known. With more all are forgotten, and
// the log says some of them again.
const mostTexts = 4096

// refusalLog are what was said last of dataplanes.
type refusalLog struct {
	mu sync.Mutex
	of map[api.Ref]string
}

// same reports whether a text was said last of a dataplane, and is said from now on.
func (l *refusalLog) same(dp api.Ref, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.of[dp]
	if l.of == nil || !ok && len(l.of) >= mostTexts {
		l.of = map[api.Ref]string{}
	}
	l.of[dp] = text
	return ok && last == text
}

func (l *refusalLog) forget(dp api.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, dp)
}
