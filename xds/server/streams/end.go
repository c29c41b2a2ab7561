// Package streams is what the streams of ADS and those of agents have in common: how they begin and how they end.
package streams

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
)

// ErrClosed refuses and ends streams while the control plane stops.
var ErrClosed = status.Error(codes.Unavailable, "the control plane is stopping; try another or again")

// ErrEarly refuses streams for as long as nothing is published.
var ErrEarly = status.Error(codes.Unavailable, "the control plane has not read its store yet; try again")

// mostPause is the longest pause between the ends of two streams: a few need not take as
// long as many may.
const mostPause = 200 * time.Millisecond

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

// Gone waits until wait returns, or ctx is over.
func Gone(ctx context.Context, wait func()) error {
	gone := make(chan struct{})
	go func() {
		wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
