package peers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server/authn"
)

// ask asks a peer.
func (r *Replica) ask(ctx context.Context, conn *grpc.ClientConn, ref api.Ref, path string, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, attach.AnswerWithin)
	defer cancel()
	ctx, err := r.proving(ctx)
	if err != nil {
		return err
	}
	g, err := NewPeersClient(conn).Ask(ctx, &Question{Dataplane: named(ref), Path: path})
	if err != nil {
		return heard(err)
	}
	for left := attach.LargestAnswer; ; {
		part, err := g.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return heard(err)
		}
		if left -= len(part.GetChunk()); left < 0 {
			return attach.ErrTooLarge
		}
		if _, err := w.Write(part.GetChunk()); err != nil {
			return err
		}
	}
}

// Ask answers a peer.
func (r *Replica) Ask(q *Question, g Peers_AskServer) error {
	if _, err := authn.Authenticate(g.Context(), r.cfg.Authenticator); err != nil {
		return err
	}
	ref, to := refOf(q.GetDataplane()), parts{g}
	if q.GetPath() != "" {
		if !attach.IsQuestion(q.GetPath()) {
			return status.Errorf(codes.InvalidArgument, "%q is no question", q.GetPath())
		}
		return said(r.cfg.Agents.Ask(g.Context(), ref, q.GetPath(), to))
	}
	text, ok, err := r.cfg.ADS.Sent(ref)
	if err == nil && !ok {
		err = attach.ErrNoStream
	}
	if err == nil {
		_, err = to.Write(text)
	}
	return said(err)
}

// parts are what a peer is answered.
type parts struct{ g Peers_AskServer }

func (p parts) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		n := min(len(rest), attach.ChunkSize)
		if err := p.g.Send(&Part{Chunk: rest[:n]}); err != nil {
			return len(text) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(text), nil
}

// said and heard carry the errors of package attach from one replica to another.
func said(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, attach.ErrNoStream):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, attach.ErrLate):
		return status.Error(codes.DeadlineExceeded, err.Error())
	}
	return status.Error(codes.Aborted, err.Error())
}

func heard(err error) error {
	switch s := status.Convert(err); s.Code() {
	case codes.FailedPrecondition:
		return attach.ErrNoStream
	case codes.DeadlineExceeded:
		return attach.ErrLate
	case codes.Aborted:
		return errors.New(s.Message())
	default:
		return fmt.Errorf("the replica that has its stream does not answer: %s", s.Message())
	}
}

// TLSOf trusts who is called name by an authority of roots, in PEM.
func TLSOf(name string, roots []byte) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots)
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name, RootCAs: pool, NextProtos: []string{"h2"}}
}
