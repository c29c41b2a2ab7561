package control

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/control/bare"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/store/kube/writing"
)

// findBare makes ready to find the pods that should have a sidecar and have none: every
// replica counts them and has them among its problems, the leader writes events
// (spec/kubernetes.md 4.6).
func (p *Plane) findBare(made *webhook.Made, w *writing.Writer) error {
	values, err := p.cfg.injection(p.settings.SystemNamespaces)
	if err != nil {
		return err
	}
	p.hooks, p.bare = made, bare.New(values, p.cfg.clock())
	p.lead("bare pods", func(ctx context.Context) error { return p.bare.Tell(ctx, w.WarnAbout, p.log) })
	p.observe.bare(p.bare.Count)
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

// bare measures how many pods lack a sidecar.
func (o *observer) bare(count func() int) {
	o.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weft_bare_pods",
		Help: "Pods of the cluster that should have a sidecar and have none; every replica counts all of them."}, func() float64 { return float64(count()) }))
}

// injections counts what became of new pods. There are as many codes as rows of
// inject.Decide and kinds of mistakes.
func (o *observer) injections() func(verdict, code string) {
	pods := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "weft_injections_total", Help: "New pods that the webhook was asked about, by what became of them and why."}, []string{"verdict", "code"})
	o.registry.MustRegister(pods)
	return func(verdict, code string) { pods.WithLabelValues(verdict, code).Inc() }
}
