package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/xds/server/authn"
)

// ErrNotLeading is that of a leader request to a replica that does not lead.
var ErrNotLeading = errors.New("this replica does not lead")

// ErrNoLeader is that of a leader request that no peer takes.
var ErrNoLeader = errors.New("no replica leads, or the one that does is not reached; try again")

// requestWithin is how long a leader request may take.
const requestWithin = 30 * time.Second

// Send has the peer that leads do what text asks; each that is followed is asked in turn.
func (r *Replica) Send(ctx context.Context, text []byte) (*Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	for _, conn := range r.connections() {
		asking, err := r.proving(ctx)
		if err != nil {
			return nil, err
		}
		out, err := NewPeersClient(conn).Do(asking, &Errand{Text: text})
		switch status.Code(err) {
		case codes.OK:
			return out, nil
		case codes.FailedPrecondition, codes.Unavailable, codes.Unimplemented, codes.Canceled: // it does not lead, or is just going
		default:
			return nil, fmt.Errorf("the replica that leads does not answer: %s", status.Convert(err).Message())
		}
	}
	return nil, ErrNoLeader
}

func (r *Replica) connections() (all []*grpc.ClientConn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.following {
		if f.conn != nil && !f.self {
			all = append(all, f.conn)
		}
	}
	return all
}

// Do does what a peer asks of the leader.
func (r *Replica) Do(ctx context.Context, e *Errand) (*Outcome, error) {
	if _, err := authn.Authenticate(ctx, r.cfg.Authenticator); err != nil {
		return nil, err
	}
	if r.cfg.Do == nil {
		return nil, status.Error(codes.FailedPrecondition, ErrNotLeading.Error())
	}
	out, err := r.cfg.Do(ctx, e.GetText())
	if errors.Is(err, ErrNotLeading) {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return out, err
}
