package writing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/election"
)

// PlanWriter is the store.LeaderWriter of a cluster, where there is no step that writes several
// objects: it writes one after the other, in the order of the plan, and stops at the first that
// fails. What is missing is planned again, by what there is then.
//
// Nothing is planned before this replica has seen all Secrets of authorities that it and the
// leaders before it have written. Each write carries the version that it was computed from, and only
// the leader's arrives at all.
type PlanWriter struct {
	Store     *kube.Store
	Namespace string // of the control plane
	Led       func() // is told when this replica leads, and has seen what leaders before it have written
	Writer    *Writer

	leads atomic.Bool // and has seen what leaders before it have written
	mu    sync.Mutex  // one plan after the other
}

var _ store.LeaderWriter = (*PlanWriter)(nil)

// IsLeading reports whether this replica leads, and has seen what leaders before it have written.
func (k *PlanWriter) IsLeading() bool { return k.leads.Load() }

// Bounds on how long what was written takes to be seen, and how often a plan is made anew
// whose objects somebody else was writing.
const (
	seenWithin  = 10 * time.Second
	mostReplans = 5
)

// Run takes part as long as this replica leads.
func (k *PlanWriter) Run(ctx context.Context) error {
	if err := k.catchUp(ctx); err != nil {
		return err
	}
	k.leads.Store(true)
	defer k.leads.Store(false)
	k.Led()
	<-ctx.Done()
	return nil
}

// catchUp waits until the Secrets are read as they are now: where a rotation stands decides
// what is to be trusted, and may be newer than the MeshTrusts that were read.
func (k *PlanWriter) catchUp(ctx context.Context) error {
	for end := time.Now().Add(seenWithin); ; {
		asking, cancel := context.WithTimeout(ctx, election.Timeout)
		there, err := k.Writer.Versions(asking, k.Namespace, api.SecretMesh)
		cancel()
		if err != nil {
			return err
		}
		for o := range k.Store.Snapshot().OfKind(api.KindSecret) {
			if s, ok := o.Spec.(*api.Secret); !ok || s.Type != api.SecretMesh {
				continue
			}
			if there[o.Name] == o.ResourceVersion {
				delete(there, o.Name)
			} else {
				there[o.Name] = "" // it is another by now, or gone
			}
		}
		if len(there) == 0 || time.Now().After(end) { // the rest are no Secrets that weft reads
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookForWritten):
		}
	}
}

// lookForWritten is between two looks at the Secrets that a leader before this one has written.
const lookForWritten = 100 * time.Millisecond

// Apply does what plan says, and returns when this replica has seen it.
func (k *PlanWriter) Apply(ctx context.Context, plan store.Plan) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for again := 0; ; again++ {
		if !k.leads.Load() {
			return store.ErrNotLeading
		}
		now := k.Store.Snapshot()
		writes, err := plan(now)
		if err != nil {
			return err
		}
		err = k.write(ctx, now, writes)
		other := errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrGone)
		if !other || again == mostReplans {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookForWritten << again):
		}
	}
}

// stored is an object of which a write was done.
type stored struct {
	ref     api.Ref
	version string // that it has since; of one that is deleted, that it had
	gone    bool
}

// write does writes, one after the other, and waits until those that it has done are seen.
func (k *PlanWriter) write(ctx context.Context, now *snapshot.Snapshot, writes []store.Write) error {
	var done []stored
	var failed error
	for _, w := range writes {
		one := stored{ref: w.Ref(), gone: w.Put == nil}
		before, there := now.Get(one.ref)
		switch {
		case one.gone && !there:
			continue
		case one.gone:
			one.version = before.ResourceVersion
			failed = k.Writer.Delete(ctx, one.ref, one.version)
		default:
			o := *w.Put
			if there {
				o.ResourceVersion = before.ResourceVersion
			}
			one.version, failed = k.Writer.Put(ctx, &o)
		}
		if failed != nil {
			break
		}
		done = append(done, one)
	}
	return errors.Join(failed, k.seen(ctx, done))
}

// seen waits until what was read is no older than what was written.
func (k *PlanWriter) seen(ctx context.Context, done []stored) error {
	ctx, cancel := context.WithTimeout(ctx, seenWithin)
	defer cancel()
	now, watch := k.Store.Watch()
	defer watch.Stop()
	for {
		done = slices.DeleteFunc(done, func(w stored) bool {
			o, there := now.Get(w.ref)
			if w.gone {
				return !there || o.ResourceVersion != w.version
			}
			return there && !kube.Older(o.ResourceVersion, w.version)
		})
		if len(done) == 0 {
			return nil
		}
		var err error
		if now, _, err = watch.Next(ctx); err != nil {
			return fmt.Errorf("what was written of authorities is not read back: %w", err)
		}
	}
}
