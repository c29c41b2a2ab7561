package server

import (
	"context"
	"sync"
	"time"
)

// handover is when a Send counts as waiting for its reader instead of encoding:
// its turn goes to the next, or few slow readers would hold back all others.
const handover = 50 * time.Millisecond

// sendLimit bounds how many messages are encoded at the same time.
type sendLimit struct{ turns chan struct{} }

func newSendLimit(n int) *sendLimit { return &sendLimit{make(chan struct{}, n)} }

// do runs send when it is its turn.
func (a *sendLimit) do(ctx context.Context, send func() error) error {
	select {
	case a.turns <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	release := sync.OnceFunc(func() { <-a.turns })
	slow := time.AfterFunc(handover, release)
	defer release()
	defer slow.Stop()
	return send()
}
