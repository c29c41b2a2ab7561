package control

import (
	"context"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/leader"
	"github.com/weftmesh/weft/control/mirror"
	"github.com/weftmesh/weft/control/owned"
	"github.com/weftmesh/weft/control/services"
	"github.com/weftmesh/weft/control/status"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/writing"
)

// leadWriting adds the writers that every cluster has.
func (p *Plane) leadWriting(s *kube.Store, w *writing.Writer) {
	p.writers.Add("meshes", leader.NewDefaults(leader.DefaultsConfig{Store: p.store, Writer: w, Lease: p.elector, FirstMesh: p.cfg.FirstMesh(), SkipPolicies: p.cfg.SkipDefaultPolicies, Namespace: p.cfg.Namespace, Log: p.log}).Run)
	p.writers.Add("authorities", p.keeping.Run)
	catalog := p.settings.Catalog().InZone(p.settings.InZone())
	p.writers.Add("services", services.New(services.Config{Store: s, Catalog: catalog, Writer: w, Model: reported{p}.Model, Status: reported{p}.service, Log: p.log}).Run)
	p.writers.Add("statuses", status.New(status.Config{Plane: reported{p}, Store: s, Catalog: p.settings.Catalog(), Writer: w, Count: p.observe.Statuses(), Log: p.log}).Run)
	if p.cfg.WriteDataplanes {
		m := &mirror.Maker{Store: s, Catalog: catalog, Model: reported{p}.Model}
		p.writers.Add("dataplanes", owned.New(owned.Config{Kind: api.KindDataplane, Store: s, Writer: w, Maker: m, Resolved: m.Resolved, Log: p.log}).Run)
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
	p.elector.Run(ctx, p.writers.Run)
}

// leads is 1 where this replica leads.
func (p *Plane) leads() float64 {
	if p.elector.Leads() {
		return 1
	}
	return 0
}
