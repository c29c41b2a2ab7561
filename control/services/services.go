// Package services writes a MeshService for each Service of the mesh, since users list and
// target them (spec/kubernetes.md 3.2).
//
// It promises that a MeshService which somebody else has written stays as it is, with an
// event at the Service; that what it has written goes with the Service; and that it writes
// only what differs. What follows from a Service follows from the Service itself, in memory,
// with or without the object: nothing here is needed for traffic.
package services

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/writing"
)

// The rhythm of objects.
const (
	tick   = 200 * time.Millisecond // between looks at what changed
	whole  = 10 * time.Second       // between looks at all: an object that somebody deleted comes back
	atOnce = 8                      // requests
)

// Config says what is written where.
type Config struct {
	Store   *kube.Store
	Catalog *api.Catalog
	Writer  *writing.Writer
	// Status is that of the MeshService of a Service; nil while it is not resolved.
	Status func(service api.Ref) *api.ServiceReport
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
	following, ctx := errgroup.WithContext(ctx)
	following.Go(func() error { return k.follow(ctx) })
	following.Go(func() error {
		t := time.NewTicker(tick)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-t.C:
				k.step(ctx, time.Now())
			}
		}
	})
	return following.Wait()
}

// follow notes which Services may want another object.
func (k *Keeper) follow(ctx context.Context) error {
	_, watch := k.Store.Watch()
	defer watch.Stop()
	for {
		_, changes, err := watch.Next(ctx)
		if err != nil {
			return err
		}
		k.mu.Lock()
		for _, c := range changes {
			switch ref := c.Ref(); ref.Kind {
			case api.KindService, api.KindMeshService:
				k.due[key{ref.Namespace, ref.Name}] = true
			case api.KindNamespace, api.KindMesh:
				k.all = true
			}
		}
		k.mu.Unlock()
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
		k.next = now.Add(whole)
		for n := range s.services {
			due[n] = true
		}
		for n := range s.made {
			due[n] = true
		}
	}
	var sending errgroup.Group
	sending.SetLimit(atOnce)
	var mu sync.Mutex
	var failed []error
	for _, n := range slices.Collect(maps.Keys(due)) {
		sending.Go(func() error {
			if err := k.keep(ctx, s, n, served.Status); err != nil && !errors.Is(err, writing.ErrChanged) && !errors.Is(err, writing.ErrGone) {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
			return nil
		})
	}
	_ = sending.Wait()
	if len(failed) > 0 && ctx.Err() == nil {
		k.Log.Warn("MeshServices could not be written; they are tried again", "objects", len(failed), "error", failed[0])
	}
}

// keep brings the MeshService of one name in step with its Service.
func (k *Keeper) keep(ctx context.Context, s *seen, n key, status bool) error {
	made, there := s.made[n]
	service, ok := s.services[n]
	switch {
	case !ok && there:
		return k.Writer.Delete(ctx, made.ref, made.report.Version)
	case !ok:
		return nil
	case s.written[n]:
		return k.exists(ctx, n, service.object)
	}
	want := service.meshService(k.Catalog)
	switch {
	case !there:
		err := k.Writer.CreateOwned(ctx, want, service.owner())
		if errors.Is(err, writing.ErrExists) {
			return nil // the watch will say whose it is
		}
		return err
	case !made.says(want, service.owner()):
		return k.Writer.ReplaceOwned(ctx, want, service.owner(), made.report.Version)
	case status:
		return k.report(ctx, made)
	}
	return nil
}

// exists says at a Service that somebody else has its MeshService.
func (k *Keeper) exists(ctx context.Context, n key, service *api.Object) error {
	k.mu.Lock()
	told := k.told[n]
	k.told[n] = true
	k.mu.Unlock()
	if told {
		return nil
	}
	return k.Writer.Warn(ctx, service.Ref, service.UID(), "MeshServiceExists",
		"a MeshService of this name was there before, and stands for the Service; delete it, or give it another name, and weft writes one that follows the Service")
}
