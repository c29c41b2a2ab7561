package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/xds/server/authority/workload"
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
// plane; they keep what they have. Those of a store with replicas do so little by little, and meanwhile
// everything is answered as before, to peers too, but that nobody is sent here any more.
func (p *Plane) shutdown(ctx context.Context) {
	over := time.Duration(0)
	if p.shared != nil {
		over = p.cfg.StreamsOver
	}
	ctx, cancel := context.WithTimeout(ctx, over+p.cfg.ShutdownGrace)
	defer cancel()
	p.ephemerals.Close()
	p.returning.Close()
	p.lastGood.Close()
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
		p.lastGood.Close()
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

// campaign takes part in the election until ctx ends.
func (p *Plane) campaign(ctx context.Context) {
	if p.shared == nil || p.shared.Leader == nil || p.backend.Synced(ctx) != nil {
		return
	}
	if _, err := p.loop.Model(ctx, 0); err != nil {
		return // ctx has ended
	}
	if p.peers != nil {
		p.peers.Settle(ctx) // else the first statuses would leave theirs out
	}
	p.shared.Leader.Run(ctx, p.writers.Run)
}

// leads is 1 where this replica leads.
func (p *Plane) leads() float64 {
	if p.shared.Leader.Leads() {
		return 1
	}
	return 0
}

// The codes of what is wrong with what runs.
const (
	codeStore          = "StoreFailed"
	codeDataDirectory  = "DataDirectoryFull"
	codeAuthorityFault = "AuthorityUnreadable"
	codeEnded          = api.CodeExpired
)

// leastDataRoom is what the files of a data directory need that are replaced now and then.
const leastDataRoom = 1 << 20

// degraded is what is wrong with this control plane while it serves: notes that are about no object, for
// everybody who asks about a mesh or about problems.
func (p *Plane) degraded() (notes []api.Note) {
	say := func(severity api.Severity, code, text string) {
		notes = append(notes, api.Note{Severity: severity, Code: code, Message: text})
	}
	if err := p.store.Health(); err != nil {
		say(api.Error, codeStore, err.Error())
	} else if free, known := files.Room(p.cfg.DataDir); known && free < leastDataRoom {
		say(api.Warning, codeDataDirectory, fmt.Sprintf("%d KiB are free for the data directory %s, so that what the next control plane has to know is not kept; make room", free>>10, p.cfg.DataDir))
	}
	if err := p.authorityFault(); err != nil {
		say(api.Error, codeAuthorityFault, err.Error())
	}
	if p.shown != nil {
		if ends, now := p.shown.NotAfter, p.cfg.Clock()(); !now.Before(ends) {
			say(api.Error, codeEnded, "the certificate of --xds-tls-cert has ended at "+ends.UTC().Format(time.RFC3339)+", so that no sidecar connects; bring its successor and restart")
		} else if now.After(workload.WarnAt(p.shown.NotBefore, ends)) {
			say(api.Warning, codeEnded, "the certificate of --xds-tls-cert ends at "+ends.UTC().Format(time.RFC3339)+"; bring its successor and restart")
		}
	}
	return notes
}

// authorityFault is why the authority that the replicas of a cluster share cannot be read or kept now; nil
// where it can, or where there is none. One that was read before is still served.
func (p *Plane) authorityFault() error {
	if p.roots == nil {
		return nil
	}
	err := p.roots.Fault()
	if err == nil && p.secrets != nil {
		err = p.secrets.Fault()
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("the authority of the cluster cannot be read: %w; replicas that run go on with what they have read, one that starts now stays not ready", err)
}

// running is what is wrong with sidecars and certificates, each with the object that it is about.
func (p *Plane) running() (notes []api.Note) {
	m := p.loop.Current()
	if m == nil {
		return nil
	}
	for _, n := range p.refused.Notes() {
		n.Origin.Ref = n.Origin.Resolve(reconcile.Serves(m))
		notes = append(notes, n)
	}
	notes = append(notes, p.restored.Notes()...)
	notes = append(notes, p.insights.EndedNotes(m)...)
	return append(notes, issuer.ExpiredSecrets(m, p.cfg.Clock()())...)
}
