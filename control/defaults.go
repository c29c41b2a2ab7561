package control

import (
	"context"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/store"
)

// withDefaults is a store in which a new mesh comes with its default policies,
// in the same revision.
type withDefaults struct {
	store.Store
	skip bool
}

// Apply writes, and what a new mesh needs.
func (f withDefaults) Apply(ctx context.Context, writes []store.Write) (*api.Snapshot, []store.Result, error) {
	if extra := f.defaults(writes); len(extra) > 0 {
		s, results, err := f.Store.Apply(ctx, append(writes[:len(writes):len(writes)], extra...))
		if err != nil {
			return nil, nil, err
		}
		return s, results[:len(writes)], nil
	}
	return f.Store.Apply(ctx, writes)
}

// defaults are the default policies of the meshes that writes create, but for
// those that exist or come along.
func (f withDefaults) defaults(writes []store.Write) []store.Write {
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
				extra = append(extra, store.Write{Put: p, Own: true})
			}
		}
	}
	return extra
}

// mark gives the label weft.io/default to the default policies of a store that a
// weft without the label has made: those that came with their mesh, at the same
// moment, and say what they said then. What people wrote or changed is theirs.
func (f withDefaults) mark(ctx context.Context) error {
	var writes []store.Write
	snapshot := f.Snapshot()
	for mesh := range snapshot.OfKind(api.KindMesh) {
		for _, p := range world.DefaultPolicies(mesh.Name, nil) {
			o, ok := snapshot.Get(p.Ref)
			if ok && o.Created.Equal(mesh.Created) && o.Modified.Equal(o.Created) && store.Same(o, p.MarkDefault(false)) {
				writes = append(writes, store.Write{Put: o.MarkDefault(true), Own: true, If: func(now *api.Object) bool { return now == o }})
			}
		}
	}
	_, _, err := f.Apply(ctx, writes)
	return err
}
