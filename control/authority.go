package control

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/authority/spire"
)

// keep keeps the authority of the replicas, who the pods of a cluster are, and which lack a sidecar, until
// ctx ends.
func (p *Plane) keep(ctx context.Context, running *errgroup.Group) {
	if p.backend.Users != nil {
		running.Go(func() error { p.backend.Users.Follow(ctx, p.store); return nil })
	}
	if p.uninjected != nil {
		p.followUninjected(ctx, running)
	}
	if p.peers != nil {
		running.Go(func() error {
			p.shared.FollowReplicas(ctx, func(all []store.ReplicaAddress) { p.peers.Find(ctx, all) })
			return nil
		})
	}
	if p.roots != nil {
		if any(p.roots) != any(p.secrets) { // which keep it themselves
			running.Go(func() error { p.roots.Run(ctx); return nil })
		}
		running.Go(func() error { p.secrets.Run(ctx); return nil })
		running.Go(func() error { p.sharedKeys.Follow(ctx, p.revoke); return nil })
		running.Go(func() error { p.tellAuthorities(ctx); return nil })
	}
}

// tellAuthorities tells all sidecars which authorities they are to trust, as they change,
// until ctx ends. Who hears it trusts this control plane already.
func (p *Plane) tellAuthorities(ctx context.Context) {
	for {
		pem, changed := p.roots.PEM()
		p.agents.Authorities(pem)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// authorityActor is the keeper of authorities as one that acts.
const authorityActor = "authority"

func (p *Plane) newCAController() *authorities.CAController {
	c := authorities.Config{Zone: p.settings.InZone(), System: p.settings.SystemNamespaces, CAFileRoot: p.cfg.CAFileRoot, Now: p.cfg.Clock(), Log: p.log,
		Sidecars: p.issued.Of, Before: p.issued.UnknownUntil, Certify: func(dp api.Ref) { p.certifyNow(dp) }, Spread: p.cfg.RotationSpread, Relied: func(mesh string, revision uint64) bool { return p.insights.ReliesOn(mesh, revision) },
		Keep: func(ctx context.Context, plan store.Plan) error {
			_, _, err := p.own.Apply(storage.WithActor(ctx, authorityActor), plan)
			return err
		}}
	c.Namespace, c.Gone = p.backend.Namespace, p.backend.Gone
	if p.shared != nil {
		c.Keep, c.Leads = p.shared.Writer.Apply, p.shared.Writer.IsLeading
		c.Blind = func() bool { return p.peers != nil && len(p.peers.Silent()) > 0 }
	}
	return authorities.New(c)
}

// keepAuthorities keeps the authorities of meshes until ctx ends.
func (p *Plane) keepAuthorities(ctx context.Context, running *errgroup.Group) {
	running.Go(func() error {
		if p.backend.Synced(ctx) == nil { // what is not read yet is not missing
			p.caController.Take(p.own.Snapshot())
			p.restored.Begin(p.issued.Begin())
			p.caController.Follow(ctx, p.own)
		}
		return nil
	})
	running.Go(func() error {
		select {
		case <-p.began:
			p.insights.Run(ctx)
		case <-ctx.Done():
		}
		return nil
	})
	running.Go(func() error { p.revocations.Follow(ctx, p.store); return nil })
	running.Go(func() error { p.restored.FollowRecord(ctx); return nil })
	if p.cfg.WorkloadAPI != "" {
		running.Go(func() error { p.followBundles(ctx, running); return nil })
	}
}

// followBundles tells the keeper of the roots that the Workload API beside this control plane says,
// until ctx ends. What it has said stays good while it is silent.
func (p *Plane) followBundles(ctx context.Context, running *errgroup.Group) {
	source := spire.New(p.cfg.WorkloadAPI)
	running.Go(func() error { source.WatchBundles(ctx); return nil })
	told := ""
	for {
		state, changed := source.State()
		switch {
		case state.Err == nil:
			p.caController.Bundles(state.Bundles, nil)
			told = ""
		case state.Err.Error() != told && ctx.Err() == nil:
			told = state.Err.Error()
			p.caController.Bundles(nil, state.Err)
			p.log.Warn("the roots of trust domains are not known anew; going by those of before", "error", state.Err)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// certifier answers sidecars that want certificates.
func (p *Plane) certifier(who authn.Authenticator) *issuer.Certifier {
	c := &issuer.Certifier{Model: reconcile.NewDocuments(p.store, p.loop, p.waiting).Model, Who: who, Controller: p.caController, Sidecar: p.issued.Sidecar, Record: p.issued.Record, Answered: p.insights.Refused, Zone: p.settings.InZone(), Log: p.log}
	if why, ok := p.noProof(); ok {
		c.Proof = why
	}
	return c
}

// noProof is why nobody gets a certificate of this control plane; not ok where one can.
func (p *Plane) noProof() (why api.IdentityRefusal, ok bool) {
	switch {
	case p.cfg.XDSPlaintext:
		return api.IdentityRefusal{Code: api.CodeNoProof, Message: "certificates are given over TLS alone; start the control plane without --xds-plaintext"}, true
	case p.cfg.DataplaneAuth == "none":
		return api.IdentityRefusal{Code: api.CodeNoProof, Message: "nobody proves here who he is; start the control plane with --dataplane-auth token"}, true
	}
	return why, false
}

// certifyNow has the sidecar of a dataplane, by the name by which that calls it, get another
// certificate; false where it is not connected here.
func (p *Plane) certifyNow(name api.Ref) bool {
	asked := p.agents.Certify(name)
	return p.controlPlaneKeys.Again(name) || asked
}

// newRevocations are those that documents say, and what finds out that the store is one of before them.
func (p *Plane) newRevocations() (*issuer.RestoredStore, *issuer.Revocations) {
	r := issuer.RestoredConfig{Shared: p.secrets, Controller: p.caController, Own: p.own, Synced: p.backend.Synced, Log: p.log}
	if p.shared == nil {
		r.DataDir = p.cfg.DataDir
	} else {
		r.Leads = p.shared.Writer.IsLeading
	}
	revoked := issuer.NewRevocations(issuer.RevocationConfig{Catalog: p.settings.Catalog(), Store: p.store, Own: p.own, Namespace: p.backend.Namespace, Waiting: p.waiting,
		Loop:    func() *reconcile.Loop { return p.loop },
		Changed: func() { p.restored.Note() },
		End:     func(dp api.Ref) { p.revokeOf(dp, func(string) bool { return true }) },
		Log:     p.log})
	r.Document = revoked.Document
	return issuer.NewRestoredStore(r), revoked
}

// caAdmin are the authorities as the API shows and turns them.
func (p *Plane) caAdmin() issuer.CAAdmin {
	if p.peers == nil {
		return issuer.NewCAAdmin(p.revocations, p.caController, nil)
	}
	return issuer.NewCAAdmin(p.revocations, p.caController, p.peers)
}
