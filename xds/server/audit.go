package server

import (
	"context"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// claimWait is how long a stream that is refused may take to say who it claims
// to be, for the log alone: clients say it with the stream.
const claimWait = time.Second

// refuse logs that a stream is refused, and who asked for it: whoever looks for
// a stolen or a stale token needs address and name.
func (s *Server) refuse(ctx context.Context, claims *corev3.Node, err error) error {
	s.opts.Logger.Warn("refused a stream", "address", AddressOf(ctx), "node", cut(claims.GetId(), keptClaim), "error", cut(status.Convert(err).Message(), keptWords))
	if s.opts.Refused != nil {
		s.opts.Refused(cut(claims.GetId(), keptClaim), err)
	}
	return err
}

// AddressOf is where a stream comes from.
func AddressOf(ctx context.Context) string {
	if p, ok := grpcpeer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return "unknown"
}

// reason is why a stream ended.
func reason(parent context.Context, err error) string {
	switch {
	case err != nil && status.Code(err) != codes.Canceled:
		return cut(status.Convert(err).Message(), keptWords)
	case parent.Err() != nil:
		return "the client or its connection has gone"
	}
	return "the client closed it"
}
