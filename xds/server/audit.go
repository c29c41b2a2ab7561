package server

import (
	"context"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/xds/server/streams"
	"github.com/weftmesh/weft/xds/server/truncate"
)

// claimWait is how long a stream that is refused may take to say who it claims
// to be, for the log alone: clients say it with the stream.
const claimWait = time.Second

// refuse logs that a stream is refused, and who asked for it: whoever looks for
// a stolen or a stale token needs address and name.
func (s *Server) refuse(ctx context.Context, claims *corev3.Node, err error) error {
	s.opts.Logger.Warn("refused a stream", "address", streams.AddressOf(ctx), "node", truncate.Text(claims.GetId(), truncate.Claim), "error", truncate.Text(status.Convert(err).Message(), truncate.Message))
	if s.opts.Refused != nil {
		s.opts.Refused(truncate.Text(claims.GetId(), truncate.Claim), err)
	}
	return err
}

// reason is why a stream ended.
func reason(parent context.Context, err error) string {
	switch {
	case err != nil && status.Code(err) != codes.Canceled:
		return truncate.Text(status.Convert(err).Message(), truncate.Message)
	case parent.Err() != nil:
		return "the client or its connection has gone"
	}
	return "the client closed it"
}
