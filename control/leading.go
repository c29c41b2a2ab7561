package control

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/mirror"
	"github.com/weftmesh/weft/control/owned"
	"github.com/weftmesh/weft/control/services"
	"github.com/weftmesh/weft/control/status"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/writing"
)

// The pauses before a writer that has failed is started again.
const (
	firstRestart = time.Second
	lastRestart  = 30 * time.Second
)

// writer is work that one replica of a cluster does.
type writer struct {
	name string
	run  func(context.Context) error
}

// lead adds work that only the replica that leads does, before Serve. It runs while this
// replica leads, when everything was read and resolved once; its context ends with the
// leadership. Work that returns while it should run is started again, later each time, and
// touches no other. It writes through a connection that election.Elector.Fenced has made,
// and every write carries the version that it was computed from or applies fields of its
// own. Without --store kube and a --namespace it never runs.
func (p *Plane) lead(name string, run func(context.Context) error) {
	p.writers = append(p.writers, writer{name, run})
}

// leadWriting adds the writers that every cluster has.
func (p *Plane) leadWriting(s *kube.Store, w *writing.Writer) {
	p.lead("meshes", founding{p, w, p.elector}.run)
	p.lead("authorities", p.keeping.run)
	catalog := p.settings.Catalog().InZone(p.settings.InZone())
	p.lead("services", services.New(services.Config{Store: s, Catalog: catalog, Writer: w, Model: reported{p}.Model, Status: reported{p}.service, Log: p.log}).Run)
	p.lead("statuses", status.New(status.Config{Plane: reported{p}, Store: s, Catalog: p.settings.Catalog(), Writer: w, Count: p.observe.Statuses(), Log: p.log}).Run)
	if p.cfg.WriteDataplanes {
		m := &mirror.Maker{Store: s, Catalog: catalog, Model: reported{p}.Model}
		p.lead("dataplanes", owned.New(owned.Config{Kind: api.KindDataplane, Store: s, Writer: w, Maker: m, Resolved: m.Resolved, Log: p.log}).Run)
	}
}

// campaign takes part in the election until ctx ends.
func (p *Plane) campaign(ctx context.Context) {
	if p.elector == nil || p.cluster.Synced(ctx) != nil {
		return
	}
	if _, err := p.loop.Model(ctx, 0); err != nil {
		return // ctx has ended
	}
	if p.peers != nil {
		p.peers.Settle(ctx) // else the first statuses would leave theirs out
	}
	p.elector.Run(ctx, p.write)
}

// write runs all writers until ctx ends.
func (p *Plane) write(ctx context.Context) {
	var running sync.WaitGroup
	for _, w := range p.writers {
		running.Go(func() { p.keepWriting(ctx, w) })
	}
	running.Wait()
	<-ctx.Done()
}

// keepWriting runs a writer until ctx ends, whatever happens in it.
func (p *Plane) keepWriting(ctx context.Context, w writer) {
	pause := firstRestart
	for {
		started := time.Now()
		err := status.Guard(func() error { return w.run(ctx) })
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > lastRestart {
			pause = firstRestart
		}
		p.log.Error("a writer of the leader has ended; it is started again", "writer", w.name, "error", err, "pause", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, lastRestart)
	}
}

// leads is 1 where this replica leads.
func (p *Plane) leads() float64 {
	if p.elector.Leads() {
		return 1
	}
	return 0
}

// replica is what this process calls itself among the replicas: the name of its pod, else
// one that no other process has.
func (c Config) replica() string {
	if c.Replica != "" {
		return c.Replica
	}
	host, _ := os.Hostname()
	return host + "_" + uuid.NewString()
}
