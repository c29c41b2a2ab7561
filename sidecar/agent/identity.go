package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/weftmesh/weft/sidecar/accesslog"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/callers"
	"github.com/weftmesh/weft/sidecar/identity"
	"github.com/weftmesh/weft/sidecar/loglines"
	"github.com/weftmesh/weft/sidecar/metrics"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// certifyRequest is the body of POST /certify.
type certifyRequest struct {
	Mesh    string `json:"mesh"`
	Name    string `json:"name"`
	Request []byte `json:"request"` // PKCS #10 in DER form
	// Spire is what the Workload API beside the workload offers.
	Spire *identity.WorkloadAPIState `json:"spire,omitempty"`
}

// largestAnswer bounds what is read of an answer, in bytes.
const largestAnswer = 256 << 10

// receive listens at a socket of the agent for what Envoy writes of connections and requests, and serves it
// the certificate of the workload where there is one. It says so among the features by which the control
// plane decides what Envoy writes.
func (a *Agent) receive(ctx, closing context.Context, all *errgroup.Group, s *source, dir string) error {
	s.socket = filepath.Join(dir, "identity.sock")
	l, err := identity.Listen(s.socket)
	if err != nil {
		return err
	}
	a.lines, a.logs = &accesslog.Receiver{Request: a.requests.Line}, loglines.New(a.config.LogDir, a.log)
	register := func(g *grpc.Server) { a.lines.Register(g); a.logs.Register(g); a.headers.Register(g) }
	s.features = []string{bootstrap.RequestsFeature}
	a.holdIdentity(ctx, all, s)
	if a.identity != nil {
		a.lines.Connection = a.callers.Take
		all.Go(func() error { return a.identity.Serve(closing, l, register) })
	} else {
		all.Go(func() error { return accesslog.Serve(closing, l, register) })
	}
	all.Go(func() error { a.logs.Run(closing); return nil })
	all.Go(func() error { a.keepSampling(ctx); return nil })
	return nil
}

// serveMetrics serves at a socket of its own what the control plane will say, and sends it to collectors.
func (a *Agent) serveMetrics(ctx, closing context.Context, all *errgroup.Group, s *source, dir string) (err error) {
	if a.metrics, s.metrics, err = metrics.Open(dir, a.figures, a.logs.Dropped, a.log); err != nil {
		return err
	}
	s.features = append(s.features, s.metrics.Features()...)
	all.Go(func() error { return a.metrics.Serve(closing) })
	all.Go(func() error { a.metrics.Push(ctx); return nil })
	return nil
}

// holdIdentity has the workload certified, where the control plane can know who asks: by a token, over TLS.
func (a *Agent) holdIdentity(ctx context.Context, all *errgroup.Group, s *source) {
	if !s.tls || s.token == nil {
		return
	}
	a.identity, a.callers = identity.New(s.certify, a.config.WorkloadAPI, a.log), callers.New()
	all.Go(func() error { a.identity.Keep(ctx); return nil })
}

// certify asks the control plane once.
func (s *source) certify(ctx context.Context, q identity.CertifyRequest) (out identity.CertifyResponse, err error) {
	var with request
	client, err := s.connect(&with)
	if err != nil {
		return out, err
	}
	text, err := json.Marshal(certifyRequest{s.config.Mesh, s.config.Name, q.Request, q.Offer})
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.certifyURL, bytes.NewReader(text))
	if err != nil {
		return out, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+with.DataplaneToken)
	resp, err := client.Do(req)
	if err != nil {
		return out, unreachable(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, largestAnswer))
	switch {
	case err != nil:
		return out, fmt.Errorf("read the certificate: %w", err)
	case resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotFound:
		return out, identity.ErrNone // an older control plane has no such path
	case resp.StatusCode == http.StatusForbidden:
		return out, fmt.Errorf("%w: %s", identity.ErrRefused, said(answer))
	case resp.StatusCode != http.StatusOK:
		return out, errors.New(said(answer))
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return out, errors.New("the control plane answers no certificate")
	}
	return out, nil
}

// said is what a refusal says.
func said(answer []byte) string {
	var problem struct{ Title, Detail string }
	text := string(answer)
	if json.Unmarshal(answer, &problem) == nil && problem.Detail != "" {
		text = problem.Detail
	}
	return text[:min(len(text), 1024)]
}

// sender lets several goroutines send on one stream.
type sender struct {
	attach.Sidecar_AttachClient
	mu sync.Mutex
}

// Send sends one message after the other.
func (s *sender) Send(up *attach.Up) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Sidecar_AttachClient.Send(up)
}

// report shows the control plane which certificate is in use, and each that takes its place,
// until ctx ends.
func (t *attachment) report(ctx context.Context, g attach.Sidecar_AttachClient) {
	if t.identity == nil {
		return
	}
	for {
		var err error
		c, ok, changed := t.identity.Current()
		if ok {
			up := &attach.Certificate{Chain: c.DER}
			if up.Proof, err = c.Prove(t.config.Mesh + "." + t.config.Name); err != nil {
				t.log.Warn("the control plane cannot be shown the certificate of the workload", "error", err)
			} else if g.Send(&attach.Up{Is: &attach.Up_Certificate{Certificate: up}}) != nil {
				return // once sees why
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
