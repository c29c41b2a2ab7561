package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/weftmesh/weft/control/storage"
	"golang.org/x/sync/errgroup"
)

// Serve answers until ctx ends, then stops in order: no new work, the streams,
// running requests, and last the store.
func (p *Plane) Serve(ctx context.Context) error {
	p.log.Info("serving", "api", "http://"+p.API(), "xds", p.XDS(), "store", p.cfg.Store, "revision", p.store.Snapshot().Revision())
	running, working := errgroup.WithContext(ctx)
	loopCtx, endLoop := context.WithCancel(context.WithoutCancel(ctx))
	defer endLoop()
	running.Go(func() error {
		if err := p.apiSrv.Serve(p.api); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the API: %w", err)
		}
		return nil
	})
	running.Go(func() error { return p.xdsPort.Serve(p.xds) })
	running.Go(func() error { return p.follow(loopCtx) })
	running.Go(func() error { p.campaign(working); return nil })
	p.serveHTTPS(running)
	p.serveProfiles(running)
	p.keep(loopCtx, running)
	p.keepAuthorities(loopCtx, running)
	if p.feed != nil {
		running.Go(func() error { p.feed.Run(storage.WithActor(loopCtx, storage.DirectoryActor)); return nil })
	}
	p.serving.Store(true)
	<-working.Done()
	p.serving.Store(false)
	p.log.Info("stopping")
	p.shutdown(context.WithoutCancel(ctx))
	endLoop()
	return errors.Join(running.Wait(), p.release())
}

// shutdown ends what serves. Streams end first, so that sidecars turn to another control
// plane; they keep what they have. Those of a cluster do so little by little, and meanwhile
// everything is answered as before, to peers too, but that nobody is sent here any more.
func (p *Plane) shutdown(ctx context.Context) {
	over := time.Duration(0)
	if p.cluster != nil {
		over = p.cfg.StreamsOver
	}
	ctx, cancel := context.WithTimeout(ctx, over+p.cfg.ShutdownGrace)
	defer cancel()
	p.ephemerals.Close()
	p.returning.Close()
	p.goods.Close()
	p.xdsPort.Drain() // sidecars are refused, and peers are not
	p.endStreams(ctx, over)
	if err := p.xdsPort.Shutdown(ctx); err != nil {
		p.log.Warn("sidecars were cut off", "error", err)
	}
	p.shutdownHTTPS(ctx)
	p.observe.Events.Close()
	if p.profiles != nil {
		_ = p.profiles.server.Close() // nobody waits for a profile
	}
	if err := p.apiSrv.Shutdown(ctx); err != nil {
		p.log.Warn("requests were cut off", "error", err)
		_ = p.apiSrv.Close() // the next line of defence after waiting
	}
}

// endStreams ends the streams of sidecars over a time, and then those of peers, who follow how
// the sidecars go.
func (p *Plane) endStreams(ctx context.Context, over time.Duration) {
	var draining sync.WaitGroup
	draining.Go(func() { p.ads.Drain(ctx, over) })
	draining.Go(func() { p.agents.Drain(ctx, over) })
	draining.Wait()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ShutdownGrace/2)
	defer cancel()
	err := errors.Join(p.ads.Shutdown(ctx), p.agents.Shutdown(ctx))
	if p.peers != nil {
		err = errors.Join(err, p.peers.Shutdown(ctx))
	}
	if err != nil {
		p.log.Warn("streams did not end in time", "error", err)
	}
}

// release closes what New opened.
func (p *Plane) release() error {
	var errs []error
	if p.ephemerals != nil {
		p.ephemerals.Close()
	}
	if p.returning != nil {
		p.returning.Close()
	}
	if p.observe != nil { // New may have failed before
		p.goods.Close()
	}
	listeners := []net.Listener{p.api, p.xds}
	for _, s := range p.https {
		listeners = append(listeners, s.listener)
	}
	if p.profiles != nil {
		listeners = append(listeners, p.profiles.listener)
	}
	for _, l := range listeners {
		if l != nil {
			if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if p.store != nil {
		errs = append(errs, p.store.Close())
	}
	if p.tracing != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := p.tracing(ctx); err != nil {
			p.log.Warn("traces were lost", "error", err)
		}
	}
	return errors.Join(errs...)
}
