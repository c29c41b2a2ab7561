package control

import (
	"context"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// furnished is a store in which a new mesh comes with its default policies, in
// the same revision.
type furnished struct {
	store.Store
	skip bool
}

// Apply writes, and what a new mesh needs.
func (f furnished) Apply(ctx context.Context, writes []store.Write) (*api.Snapshot, []store.Result, error) {
	if extra := f.furniture(writes); len(extra) > 0 {
		s, results, err := f.Store.Apply(ctx, append(writes[:len(writes):len(writes)], extra...))
		if err != nil {
			return nil, nil, err
		}
		return s, results[:len(writes)], nil
	}
	return f.Store.Apply(ctx, writes)
}

// furniture are the default policies of the meshes that writes create, but for
// those that exist or come along.
func (f furnished) furniture(writes []store.Write) []store.Write {
	if f.skip {
		return nil
	}
	var extra []store.Write
	coming := map[api.Ref]bool{}
	snapshot := f.Snapshot()
	for _, w := range writes {
		coming[w.Ref()] = true
	}
	for _, w := range writes {
		if w.Put == nil || w.Put.Kind != api.KindMesh {
			continue
		}
		if _, exists := snapshot.Get(w.Put.Ref); exists {
			continue
		}
		mesh, _ := w.Put.Spec.(*api.Mesh)
		for _, p := range world.DefaultPolicies(w.Put.Name, mesh.SkipCreatingInitialPolicies) {
			if _, exists := snapshot.Get(p.Ref); !exists && !coming[p.Ref] {
				extra = append(extra, store.Write{Put: p})
			}
		}
	}
	return extra
}

// documents is the store and what is made of it, as the API uses them.
type documents struct {
	store.Store
	loop *loop
}

// Model is what holds; it covers everything that was acknowledged before.
func (d documents) Model(ctx context.Context) (*resolve.Model, error) {
	return d.loop.model(ctx, d.Snapshot().Revision())
}
