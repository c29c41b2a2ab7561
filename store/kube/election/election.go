// Package election lets one replica of a control plane lead at a time: the one that holds
// a Lease of the cluster (spec/kubernetes.md 6.2).
//
// It keeps the rules of client-go's leader election, whose Leases and times it shares, so
// that replicas of either kind respect each other: a replica goes by how long it has seen a
// Lease unchanged, never by the clock of another host. It promises that whoever leads stops
// before another may begin, also when it was frozen meanwhile; that a Lease is given back
// when the leader stops; and that losing it ends the leading, not the process. client-go's
// own package brings the clients of all kinds of Kubernetes along, which would stand in the
// memory of every sidecar: control planes and sidecars are one program.
package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// The times of spec/kubernetes.md 6.2. A request of a leader that was sent while it still
// led has ended before another leads: Renewal and Timeout together are under Duration.
const (
	Duration = 15 * time.Second // how long a Lease stands that nobody renews
	Renewal  = 10 * time.Second // after which a leader that cannot renew it stops
	Retry    = 2 * time.Second  // between attempts to get it, and to renew it
	Timeout  = 4 * time.Second  // of a request
)

// Config says who takes part in which election.
type Config struct {
	// REST is how the API server is reached.
	REST *rest.Config
	// Namespace and Name are those of the Lease.
	Namespace, Name string
	// Identity is what this replica calls itself; no other has the same.
	Identity string
	// Says is what the leader has to say of itself, as annotations of the Lease by their names; an empty
	// text takes one away. Nil says nothing.
	Says func() map[string]string
	Log  *slog.Logger
}

// Elector is the store.Leader of a cluster: it takes part in one election. Its fields other than the fence belong to Run.
type Elector struct {
	cfg   Config
	lease dynamic.ResourceInterface
	fence fence

	seen  *held     // the Lease as it was last read or written; nil while it is not known
	since time.Time // when it was first seen saying what it says
}

// New is an elector, which asks nothing before Run.
func New(cfg Config) (*Elector, error) {
	c := rest.CopyConfig(cfg.REST)
	c.Timeout, c.WarningHandler = Timeout, rest.NoWarnings{}
	c.RateLimiter, c.QPS = nil, -1 // no writer's requests delay a renewal
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("lead %s/%s: %w", cfg.Namespace, cfg.Name, err)
	}
	return &Elector{cfg: cfg, lease: client.Resource(leases).Namespace(cfg.Namespace)}, nil
}

// Leads reports whether this replica leads now.
func (e *Elector) Leads() bool { return e.fence.open() }

// Run takes part until ctx ends. Each time that this replica becomes the leader it calls
// lead with a context that ends with the leadership, and waits for its return before
// another replica gets the Lease from it, and before it takes part again.
func (e *Elector) Run(ctx context.Context, lead func(context.Context)) {
	for e.acquire(ctx) {
		e.cfg.Log.Info("this replica leads", "lease", e.cfg.Namespace+"/"+e.cfg.Name, "identity", e.cfg.Identity)
		e.hold(ctx, lead)
		e.cfg.Log.Info("this replica leads no more", "lease", e.cfg.Namespace+"/"+e.cfg.Name)
	}
}

// acquire tries until this replica has the Lease, and reports false when ctx has ended.
func (e *Elector) acquire(ctx context.Context) bool {
	said := ""
	for {
		err := e.try(ctx)
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
		case !errors.Is(err, errTaken) && err.Error() != said:
			said = err.Error()
			e.cfg.Log.Warn("the Lease of the leader cannot be had; it is tried again", "lease", e.cfg.Namespace+"/"+e.cfg.Name, "error", err)
		}
		wait := Retry
		if e.seen != nil && !errors.Is(err, errUnknown) {
			wait = min(max(time.Until(e.expires()), 0)+50*time.Millisecond, Retry)
		}
		if !sleep(ctx, wait+rand.N(Retry/10)) {
			return false
		}
	}
}

// hold leads until the Lease is lost or ctx ends.
func (e *Elector) hold(ctx context.Context, lead func(context.Context)) {
	term, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		lead(term)
	}()
	held := e.keep(ctx)
	end()
	<-done
	e.fence.shut()
	if held {
		e.release(context.WithoutCancel(ctx))
	}
}

// keep renews the Lease until ctx ends, when it reports true, or until it is lost.
func (e *Elector) keep(ctx context.Context) bool {
	for sleep(ctx, Retry) {
		by, cancel := context.WithDeadline(ctx, e.fence.end())
		err := e.renew(by)
		cancel()
		switch {
		case errors.Is(err, errTaken):
			e.cfg.Log.Warn("another replica has the Lease of the leader", "identity", e.seen.holder())
			return false
		case err == nil, ctx.Err() != nil:
		case !e.fence.open():
			e.cfg.Log.Warn("the Lease of the leader could not be renewed in time", "error", err)
			return false
		}
	}
	return true
}

// expires is when others may take the Lease.
func (e *Elector) expires() time.Time { return e.since.Add(e.seen.duration()) }

// sleep reports false when ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
