package control

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/control/roots"
)

// keep keeps the authority of the cluster, who its pods are, and which lack a sidecar, until
// ctx ends.
func (p *Plane) keep(ctx context.Context, running *errgroup.Group) {
	if p.pods != nil {
		running.Go(func() error { p.pods.Follow(ctx, p.store); return nil })
	}
	if p.bare != nil {
		p.followBare(ctx, running)
	}
	if p.peers != nil {
		running.Go(func() error { p.findPeers(ctx); return nil })
	}
	if p.roots != nil {
		if p.roots != roots.Authority(p.shared) {
			running.Go(func() error { p.roots.Run(ctx); return nil })
		}
		running.Go(func() error { p.shared.Run(ctx); return nil })
		running.Go(func() error { p.sharedKeys.Follow(ctx, p.revoke); return nil })
		running.Go(func() error { p.tellAuthorities(ctx); return nil })
	}
}

// tellAuthorities tells all sidecars which authorities they are to trust, as they change,
// until ctx ends. Who hears it trusts this control plane already.
func (p *Plane) tellAuthorities(ctx context.Context) {
	told := ""
	for {
		pem, changed := p.roots.PEM()
		if len(pem) > 0 && string(pem) != told {
			p.agents.Authorities(pem)
			told = string(pem)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
