package peers

import (
	"cmp"
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/xds/server/authn"
)

// largestSums bounds the answer of one peer, in bytes.
const largestSums = 64 << 20

// Sums asks all peers what their sidecars counted, for Patience at most, and names those that did not
// answer.
func (r *Replica) Sums(ctx context.Context, question []byte) (answers [][]byte, silent []string) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	var mu sync.Mutex
	var asking sync.WaitGroup
	for name, conn := range r.all() {
		asking.Go(func() {
			answer, err := r.sums(ctx, conn, question)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				silent = append(silent, name)
				return
			}
			answers = append(answers, answer)
		})
	}
	asking.Wait()
	return answers, silent
}

func (r *Replica) sums(ctx context.Context, conn *grpc.ClientConn, question []byte) ([]byte, error) {
	if conn == nil {
		return nil, errSilent
	}
	ctx, err := r.proving(ctx)
	if err != nil {
		return nil, err
	}
	s, err := NewPeersClient(conn).Sum(ctx, &Counted{Question: question}, grpc.MaxCallRecvMsgSize(largestSums))
	return s.GetAnswer(), err
}

// all are the connections to peers by name or address; nil of one to which there is none though it should
// serve.
func (r *Replica) all() map[string]*grpc.ClientConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]*grpc.ClientConn{}
	for address, f := range r.following {
		if !f.self && (f.conn != nil || f.peer.Ready) {
			out[cmp.Or(f.name, f.peer.Name, address)] = f.conn
		}
	}
	return out
}

// Sum answers a peer.
func (r *Replica) Sum(ctx context.Context, c *Counted) (*Sums, error) {
	if _, err := authn.Authenticate(ctx, r.cfg.Authenticator); err != nil {
		return nil, err
	}
	if r.cfg.Sums == nil {
		return nil, status.Error(codes.Unimplemented, "nothing is counted here")
	}
	answer, err := r.cfg.Sums(c.GetQuestion())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &Sums{Answer: answer}, nil
}
