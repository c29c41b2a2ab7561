package admission

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/hostnames"
	"github.com/weftmesh/weft/store"
)

// Store is a store in which everything that is written has what comes along: all writes go
// through it. What people and others ask for their plans have admitted (Admit, Each).
type Store struct {
	store.Store
	chain *Chain
}

var _ store.Store = (*Store)(nil)

// Over is a store beneath a chain.
func (c *Chain) Over(s store.Store) *Store { return &Store{s, c} }

// Open is Over a store that may hold documents already: those that a weft before has made are
// marked as such, and renewed, and services without a virtual address are given one. From here on the chain
// keeps addresses.
func (c *Chain) Open(ctx context.Context, s store.Store) (*Store, error) {
	out := c.Over(s)
	if err := out.mark(ctx); err != nil {
		return nil, fmt.Errorf("mark the default policies: %w", err)
	}
	if err := out.renew(ctx, c.Log); err != nil {
		return nil, fmt.Errorf("renew the default policies: %w", err)
	}
	c.vips = newVIPs(c.Zone, c.Now)
	all := s.Snapshot()
	for _, kind := range hostnames.VirtualKinds() {
		for o := range all.OfKind(kind) {
			c.vips.books.move(nil, o)
		}
	}
	var writes []store.Write
	for _, kind := range hostnames.VirtualKinds() {
		for o := range all.OfKind(kind) {
			if hostnames.NeedsVIP(o, c.vips.books.own(all, o)) {
				writes = append(writes, store.Write{Put: o, Own: true})
			}
		}
	}
	if len(writes) == 0 {
		return out, nil
	}
	if _, _, err := out.Apply(ctx, store.Writes(writes...)); err != nil {
		return nil, fmt.Errorf("give virtual addresses: %w", err)
	}
	return out, nil
}

// Apply does what plan says, and writes what comes along. The results are of what plan said.
func (s *Store) Apply(ctx context.Context, plan store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	asked, undo := 0, func() {} // what the last answer of plan took down
	now, results, err := s.Store.Apply(ctx, func(now *snapshot.Snapshot) ([]store.Write, error) {
		undo()
		undo = func() {}
		writes, err := plan(now)
		if err != nil {
			return nil, err
		}
		asked = len(writes)
		writes, undo = s.chain.complete(now, writes)
		return writes, nil
	})
	if err != nil {
		undo()
		return now, nil, err
	}
	return now, results[:asked], nil
}

// mark gives the label weft.io/default to the default policies of a store that a
// weft without the label has made: those that came with their mesh, at the same
// moment, and say what they said then. What people wrote or changed is theirs.
func (s *Store) mark(ctx context.Context) error {
	_, _, err := s.Apply(ctx, func(now *snapshot.Snapshot) ([]store.Write, error) {
		var writes []store.Write
		for mesh := range now.OfKind(api.KindMesh) {
			for _, p := range DefaultPolicies(mesh.Name, nil) {
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
// revision, and says in the log which ones people have changed.
func (s *Store) renew(ctx context.Context, log *slog.Logger) error {
	if writes := Renewals(s.Snapshot(), log); len(writes) == 0 {
		return nil
	}
	_, _, err := s.Apply(ctx, func(now *snapshot.Snapshot) ([]store.Write, error) {
		return Renewals(now, slog.New(slog.DiscardHandler)), nil
	})
	return err
}
