package control

import (
	"context"
	"log/slog"
	"slices"

	"github.com/weftmesh/weft/admission"
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/store"
)

// withDefaults is a store in which a new mesh comes with its default policies, in the
// same revision, and Pods with their sidecars.
type withDefaults struct {
	store.Store
	skip bool
}

// Apply does what plan says, and writes what a new mesh needs.
func (f withDefaults) Apply(ctx context.Context, plan store.Plan) (*api.Snapshot, []store.Result, error) {
	asked := 0
	s, results, err := f.Store.Apply(ctx, func(now *api.Snapshot) ([]store.Write, error) {
		writes, err := plan(now)
		writes, _ = world.Injected(now, writes)
		asked = len(writes)
		return append(writes[:asked:asked], f.defaults(now, writes)...), err
	})
	if err != nil {
		return nil, nil, err
	}
	return s, results[:asked], nil
}

// defaults are the default policies of the meshes that writes create, but for
// those that exist or come along, and the permissions of those that start to prove who calls.
func (f withDefaults) defaults(now *api.Snapshot, writes []store.Write) []store.Write {
	if f.skip {
		return nil
	}
	var extra []store.Write
	coming := map[api.Ref]bool{}
	for _, w := range writes {
		coming[w.Ref()] = true
	}
	for _, w := range writes {
		if w.Put == nil || w.Put.Kind != api.KindMesh || now.Has(w.Put.Ref) {
			continue
		}
		mesh, _ := w.Put.Spec.(*api.Mesh)
		for _, p := range world.DefaultPolicies(w.Put.Name, mesh.SkipCreatingInitialPolicies) {
			if !now.Has(p.Ref) && !coming[p.Ref] {
				extra = append(extra, store.Write{Put: p, Own: true})
			}
		}
	}
	for _, p := range world.NewPermissions(now, writes) {
		extra = append(extra, store.Write{Put: p, Own: true})
	}
	return extra
}

// mark gives the label weft.io/default to the default policies of a store that a
// weft without the label has made: those that came with their mesh, at the same
// moment, and say what they said then. What people wrote or changed is theirs.
func (f withDefaults) mark(ctx context.Context) error {
	_, _, err := f.Apply(ctx, func(now *api.Snapshot) ([]store.Write, error) {
		var writes []store.Write
		for mesh := range now.OfKind(api.KindMesh) {
			for _, p := range world.DefaultPolicies(mesh.Name, nil) {
				o, ok := now.Get(p.Ref)
				if ok && o.Created.Equal(mesh.Created) && o.Modified.Equal(o.Created) && store.Same(o, p.MarkDefault(false)) {
					writes = append(writes, store.Write{Put: o.MarkDefault(true), Own: true})
				}
			}
		}
		return writes, nil
	})
	return err
}

// renew rewrites the default policies that are exactly what an earlier release wrote, in one
// revision, and says in the log which ones people have changed: those stay.
func (f withDefaults) renew(ctx context.Context, log *slog.Logger) error {
	if writes := renewals(f.Snapshot(), log); len(writes) == 0 {
		return nil
	}
	_, _, err := f.Apply(ctx, func(now *api.Snapshot) ([]store.Write, error) {
		return renewals(now, slog.New(slog.DiscardHandler)), nil
	})
	return err
}

func renewals(now *api.Snapshot, log *slog.Logger) (writes []store.Write) {
	for mesh := range now.OfKind(api.KindMesh) {
		for _, p := range world.DefaultPolicies(mesh.Name, nil) {
			for o := range now.Of(p.Kind, mesh.Name) {
				if o.Name != p.Name {
					continue
				}
				newer, edited := world.Renewed(o)
				if newer != nil {
					writes = append(writes, store.Write{Put: newer, Own: true})
				}
				if edited {
					log.Warn("a default policy was edited, so it stays as it is; this release writes it without perTryTimeout, which its retryOn does not repeat: see docs/lint.md#shadowedtimeout", "policy", o.Ref.String())
				}
			}
		}
	}
	return writes
}

// admit is what the directory of --dir may write now: with mesh default where
// there is no mesh at all, and nothing that would be without its mesh.
func admit(now *api.Snapshot, writes []store.Write) ([]store.Write, []*api.Violation) {
	some := now.CountOfKind(api.KindMesh) > 0 || slices.ContainsFunc(writes, func(w store.Write) bool { return w.Put != nil && w.Put.Kind == api.KindMesh })
	if !some {
		writes = append([]store.Write{{Put: world.DefaultMesh()}}, writes...)
	}
	return admission.Admit(now, writes)
}
