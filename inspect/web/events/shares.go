package events

import (
	"net/http"
	"sync"

	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
)

// How many streams of events there may be of all users but administrators, and of one of them:
// each keeps a connection, of which there are not many.
const (
	mostStreams       = 512
	mostStreamsOfUser = 32
)

// shares divide something of which there is not much among users.
type shares struct {
	all, each int

	mu    sync.Mutex
	taken int
	by    map[string]int
}

func newShares(all, each int) *shares { return &shares{all: all, each: each, by: map[string]int{}} }

// take takes one for a user, until done; not ok where too many are taken.
func (s *shares) take(user string) (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.all || s.by[user] >= s.each {
		return nil, false
	}
	s.taken++
	s.by[user]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken--
		if s.by[user]--; s.by[user] == 0 {
			delete(s.by, user)
		}
	}), true
}

// stream takes the place of one stream of events of who asks.
func (h *Handlers) stream(r *http.Request) (done func(), err error) {
	u := rights.CallerOf(r.Context())
	if !u.Bounded() {
		return func() {}, nil
	}
	done, ok := h.streams.take(u.Name)
	if !ok {
		return nil, httpapi.TooMany("streams of events")
	}
	return done, nil
}
