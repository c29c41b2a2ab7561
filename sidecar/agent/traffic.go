package agent

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/weftmesh/weft/sidecar/accesslog"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/identity"
	"github.com/weftmesh/weft/sidecar/traffic"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// How often requests are reported where the control plane has not said, and between which it may say.
const (
	reportEvery   = 10 * time.Second
	reportFastest = 2
	reportSlowest = 40
)

// receive listens at a socket of the agent for what Envoy writes of connections and requests, and serves it
// the certificate of the workload where there is one. It says so among the features by which the control
// plane decides what Envoy writes.
func (a *Agent) receive(ctx, closing context.Context, all *errgroup.Group, s *source, dir string) error {
	s.socket = filepath.Join(dir, "identity.sock")
	l, err := identity.Listen(s.socket)
	if err != nil {
		return err
	}
	a.lines = &accesslog.Receiver{Request: a.requests.Line}
	s.features = []string{bootstrap.RequestsFeature}
	a.holdIdentity(ctx, all, s)
	if a.identity != nil {
		a.lines.Connection = a.callers.Take
		all.Go(func() error { return a.identity.Serve(closing, l, a.lines.Register) })
	} else {
		all.Go(func() error { return serveLines(closing, l, a.lines) })
	}
	all.Go(func() error { a.keepSampling(ctx); return nil })
	return nil
}

// serveLines serves a receiver until ctx ends.
func serveLines(ctx context.Context, l net.Listener, lines *accesslog.Receiver) error {
	g := grpc.NewServer()
	lines.Register(g)
	stop := context.AfterFunc(ctx, g.Stop)
	defer stop()
	if err := g.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("receive what envoy writes of requests: %w", err)
	}
	return nil
}

// life is one of each life of Envoy; nil while there is none.
func (a *Agent) life() any {
	if p := a.state.admin.Load(); p != nil {
		return p
	}
	return nil
}

// keepSampling has Envoy write few lines of requests that fail, however many do, until ctx ends.
func (a *Agent) keepSampling(ctx context.Context) {
	look := time.NewTicker(a.intervals.look)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		_ = a.requests.Sampler.Look(ctx, a.life(), func(ctx context.Context, ppm uint32) error { // what fails is tried again
			return a.admin(ctx, http.MethodPost, "runtime_modify?"+bootstrap.ErrorsRuntime+"="+strconv.FormatUint(uint64(ppm), 10))
		})
	}
}

// reportTraffic tells the control plane what Envoy has counted of requests since the stream began, as often as
// every says, until ctx ends. Where Envoy cannot be asked it tells nothing, and more the next time.
func (t *attachment) reportTraffic(ctx context.Context, g attach.Sidecar_AttachClient, every <-chan uint32) {
	meter := t.newMeter()
	begin := make(chan struct{}, 1)
	begin <- struct{}{} // the baseline, at once
	look := time.NewTicker(t.intervals.report)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-begin:
		case <-look.C:
		case seconds := <-every:
			look.Stop()
			if seconds == 0 { // what is counted meanwhile is told to nobody
				meter = nil
				continue
			}
			if meter == nil {
				meter = t.newMeter()
				begin <- struct{}{}
			}
			look.Reset(time.Duration(min(max(seconds, reportFastest), reportSlowest)) * time.Second)
			continue
		}
		if meter == nil {
			continue
		}
		counted, err := meter.Next(ctx)
		if err != nil || counted == nil {
			continue
		}
		if g.Send(&attach.Up{Is: &attach.Up_Traffic{Traffic: counted}}) != nil {
			return // once sees why
		}
	}
}

func (t *attachment) newMeter() *traffic.Meter {
	return traffic.New(traffic.Source{Life: t.life, Received: t.lines.Received, Log: &t.requests,
		Get: func(ctx context.Context, path string) (io.ReadCloser, error) {
			resp, err := t.request(ctx, http.MethodGet, path)
			if err != nil {
				return nil, err
			}
			if resp.StatusCode != http.StatusOK {
				return nil, fmt.Errorf("ask envoy for statistics: %s; %w", resp.Status, resp.Body.Close())
			}
			return resp.Body, nil
		}})
}

// latest puts a value where the newest one alone matters.
func latest(c chan uint32, value uint32) {
	select {
	case <-c:
	default:
	}
	c <- value
}
