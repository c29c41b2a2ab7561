package election

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/store"
)

// fence is until when this replica leads: Renewal after the last renewal was sent.
type fence struct {
	mu    sync.Mutex
	until time.Time
}

func (f *fence) extend(to time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = to
}

func (f *fence) shut() { f.extend(time.Time{}) }

func (f *fence) end() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until
}

func (f *fence) open() bool { return time.Now().Before(f.end()) }

// Fenced is how the API server is reached by what only the leader may write. A request that
// would write is asked at the last moment, after every wait, whether this replica still
// leads, and is over before another may: a leader that was frozen writes nothing afterwards.
// What is computed from a version of an object has to carry that version all the same.
func (e *Elector) Fenced(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Timeout, c.WarningHandler = Timeout, rest.NoWarnings{}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return fenced{&e.fence, next} })
	return c
}

type fenced struct {
	fence *fence
	next  http.RoundTripper
}

// RoundTrip sends what may be sent.
func (f fenced) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet && !f.fence.open() {
		if q.Body != nil {
			_ = q.Body.Close() // as a RoundTripper has to
		}
		return nil, store.ErrNotLeading
	}
	return f.next.RoundTrip(q)
}
