// Package services writes a MeshService for each Service of the mesh, and for each pod of a
// headless one, since users list and target them (spec/kubernetes.md 3.2, 3.6).
//
// It promises that a MeshService which somebody else has written stays as it is, with an
// event at the Service; that what it has written goes with the Service; and that it writes
// only what differs. What follows from a Service follows from the Service itself, in memory,
// with or without the object: nothing here is needed for traffic.
package services

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/status"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/writing"
)

// The rhythm of objects.
const (
	tick   = 200 * time.Millisecond // between looks at what changed
	whole  = 10 * time.Second       // between looks at all: an object that somebody deleted comes back
	share  = 20                     // a look at all takes at most one part in so many of the time
	atOnce = 8                      // requests
	batch  = 200                    // Services between looks at what changed
)

// Config says what is written where.
type Config struct {
	Store   *kube.Store
	Catalog *api.Catalog
	Writer  *writing.Writer
	// Model is what holds; nil while nothing was resolved.
	Model func() *resolve.Model
	// Status is that of a Service, or of the MeshService of a pod; nil while it is not resolved.
	Status func(api.Ref) *api.ServiceReport
	Log    *slog.Logger
}

// Keeper keeps the MeshServices of a cluster while its replica leads.
type Keeper struct {
	Config

	mu  sync.Mutex
	due map[key]bool // of Services that changed
	all bool

	told map[key]bool // whose MeshService somebody else has
	next time.Time    // look at all
}

// key is the name of a Service, and of its MeshService.
type key struct{ namespace, name string }

// New is a keeper.
func New(c Config) *Keeper { return &Keeper{Config: c} }

// Run writes until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	k.due, k.told, k.all, k.next = map[key]bool{}, map[key]bool{}, true, time.Time{}
	return status.Keep(ctx, k.Store, tick, k.note, k.step)
}

// note notes which Services may want another object.
func (k *Keeper) note(changes []api.Change) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range changes {
		switch ref := c.Ref(); ref.Kind {
		case api.KindService, api.KindMeshService:
			k.due[key{ref.Namespace, ref.Name}] = true
		case api.KindNamespace, api.KindMesh:
			k.all = true
		}
	}
}

// step writes what is due.
func (k *Keeper) step(ctx context.Context, now time.Time) {
	served, installed := k.Store.Served(api.KindMeshService)
	k.mu.Lock()
	due, all := k.due, k.all || !now.Before(k.next)
	k.due, k.all = map[key]bool{}, false
	k.mu.Unlock()
	if !installed || len(due) == 0 && !all {
		return
	}
	s := k.see()
	if all {
		for n := range s.names() {
			due[n] = true
		}
	}
	list := k.wanted(s, due, served.Status)
	if all {
		k.next = now.Add(max(whole, share*time.Since(now)))
	}
	k.send(ctx, k.some(list))
}

// action is what is to be written of one name.
type action struct {
	key
	do func(context.Context) error
}

// wanted is what is to be written, by name.
func (k *Keeper) wanted(s *seen, due map[key]bool, status bool) []action {
	var out []action
	for n := range due {
		if do := k.keep(s, n, status); do != nil {
			out = append(out, action{n, do})
		}
	}
	slices.SortFunc(out, func(a, b action) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	return out
}

// some is what is written now; the others come next.
func (k *Keeper) some(list []action) []action {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := batch; i < len(list); i++ {
		k.due[list[i].key] = true
	}
	return list[:min(batch, len(list))]
}

func (k *Keeper) send(ctx context.Context, list []action) {
	var sending errgroup.Group
	sending.SetLimit(atOnce)
	outcomes := make([]error, len(list))
	for i, a := range list {
		sending.Go(func() error {
			outcomes[i] = status.Guard(func() error { return a.do(ctx) })
			return nil
		})
	}
	_ = sending.Wait()
	failed := slices.DeleteFunc(outcomes, func(err error) bool {
		return err == nil || errors.Is(err, writing.ErrChanged) || errors.Is(err, writing.ErrGone) // the watch will say what it is now
	})
	if len(failed) > 0 && ctx.Err() == nil {
		k.Log.Warn("MeshServices could not be written; they are tried again", "objects", len(failed), "error", failed[0])
	}
}

// keep is what brings the MeshService of one name in step with its Service; nil for nothing.
func (k *Keeper) keep(s *seen, n key, status bool) func(context.Context) error {
	made, there := s.made(n)
	service, ok := s.service(n)
	written := s.written(n)
	if !written {
		delete(k.told, n)
	}
	switch {
	case !ok && there:
		return func(ctx context.Context) error { return k.Writer.Delete(ctx, made.ref, made.report.Version) }
	case !ok:
		return nil
	case written:
		return k.exists(n, service.object)
	}
	want, owner := service.meshService(k.Catalog), service.owner()
	switch {
	case !there:
		return func(ctx context.Context) error {
			err := k.Writer.CreateOwned(ctx, want, owner)
			if errors.Is(err, writing.ErrExists) {
				return nil // the watch will say whose it is
			}
			return err
		}
	case !made.says(want, owner):
		return func(ctx context.Context) error { return k.Writer.ReplaceOwned(ctx, want, owner, made.report.Version) }
	case status:
		return k.report(made, service.ref())
	}
	return nil
}

// exists says at a Service, once, that somebody else has its MeshService.
func (k *Keeper) exists(n key, service *api.Object) func(context.Context) error {
	if k.told[n] {
		return nil
	}
	return func(ctx context.Context) error {
		err := k.Writer.Warn(ctx, service.Ref, service.UID(), "MeshServiceExists",
			"a MeshService of this name was there before, and stands for the Service; delete it, or give it another name, and weft writes one that follows the Service")
		if err == nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.told[n] = true
		}
		return err
	}
}
