package streams

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// AddressOf is where a stream comes from.
func AddressOf(ctx context.Context) string {
	if p, ok := grpcpeer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return "unknown"
}

// Await bounds how long a client may keep its first request to itself.
func Await[Q any](ctx context.Context, patience time.Duration, recv func() (Q, error)) (Q, error) {
	type answer struct {
		q   Q
		err error
	}
	got := make(chan answer, 1)
	go func() { // ends with the stream at the latest
		q, err := recv()
		got <- answer{q, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var none Q
	select {
	case a := <-got:
		return a.q, a.err
	case <-timer.C:
		return none, status.Error(codes.DeadlineExceeded, "no request came; ask for something first")
	case <-ctx.Done():
		return none, status.FromContextError(ctx.Err()).Err()
	}
}
