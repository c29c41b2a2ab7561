package control

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/control/bare"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/store/kube/writing"
)

// findBare makes ready to find the pods that should have a sidecar and have none: every
// replica counts them and has them among its problems, the leader writes events
// (spec/kubernetes.md 4.6).
func (p *Plane) findBare(made *webhook.Made, w *writing.Writer) error {
	values, err := p.cfg.Injection(p.settings.SystemNamespaces)
	if err != nil {
		return err
	}
	p.hooks, p.bare = made, bare.New(values, p.cfg.Clock())
	p.writers.Add("bare pods", func(ctx context.Context) error { return p.bare.Tell(ctx, w.WarnAbout, p.log) })
	p.observe.BarePods(p.bare.Count)
	return nil
}

// followBare follows pods, namespaces and webhooks until ctx ends.
func (p *Plane) followBare(ctx context.Context, running *errgroup.Group) {
	running.Go(func() error {
		if p.cluster.Synced(ctx) == nil {
			p.bare.Follow(ctx, p.store)
		}
		return nil
	})
	running.Go(func() error { p.hooks.Follow(ctx, p.bare.Hooks); return nil })
}
