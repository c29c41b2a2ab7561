package web

import (
	"context"
	"net/http"
	"time"

	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// How much users of a cluster, and others who may only ask, may send. What is read of a body
// takes many times its length while it is judged, and nobody but administrators is trusted
// not to send more.
const (
	maxApplyOfMember = 1 << 20
	mostHeldOfMember = 2 * maxDocument // at once
	mostHeldOfAll    = 16 << 20        // of all users at once
	mostHeld         = 2 * maxApply    // of administrators at once
	// turnPatience is how long an apply of a user waits for those of others.
	turnPatience = 10 * time.Second
)

// bounded reports whether a user sends within the bounds of those who are not trusted not to
// send too much: all but administrators.
func (u user) bounded() bool { return u.may != nil || u.asks }

// bounded reports whether who asks does.
func bounded(ctx context.Context) bool {
	u, _ := ctx.Value(userKey{}).(user)
	return u.bounded()
}

// admitted answers a request by next, within the bounds that hold for who sends it.
func (s *server) admitted(w http.ResponseWriter, r *http.Request, u user, next http.Handler) {
	if !u.bounded() {
		s.intake.Serve("", w, r, next)
		return
	}
	s.members.Serve(u.Name, w, r, next)
}

// applying waits until no other apply of a user of a cluster is at work; end has to follow.
func (s *server) applying(ctx context.Context) (end func(), err error) {
	late := time.NewTimer(turnPatience)
	defer late.Stop()
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-late.C:
		return nil, httpapi.ErrBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
