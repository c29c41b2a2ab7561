package control

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/vips"
	"github.com/weftmesh/weft/store"
)

// withVIPs is a store in which services that are given a virtual address have it in their
// status from their first revision on. All writes go through it.
type withVIPs struct {
	store.Store
	labels map[string]string // that the control plane computes

	mu    sync.Mutex
	books vipBooks
}

// newVIPs gives addresses out in a store, and to what is in it already.
func newVIPs(ctx context.Context, into store.Store, zone api.Zone, now func() time.Time) (*withVIPs, error) {
	v := &withVIPs{Store: into, labels: zone.Labels(), books: newVIPBooks(now)}
	all := into.Snapshot()
	for _, kind := range resolve.VirtualKinds() {
		for o := range all.OfKind(kind) {
			v.books.move(nil, o)
		}
	}
	var writes []store.Write
	for _, kind := range resolve.VirtualKinds() {
		for o := range all.OfKind(kind) {
			if resolve.NeedsVIP(o, v.books.own(all, o)) {
				writes = append(writes, store.Write{Put: o, Own: true})
			}
		}
	}
	if len(writes) == 0 {
		return v, nil
	}
	if _, _, err := v.Apply(ctx, store.Writes(writes...)); err != nil {
		return nil, fmt.Errorf("give virtual addresses: %w", err)
	}
	return v, nil
}

// Apply does what plan says, with an address in the status of each service that needs one.
func (v *withVIPs) Apply(ctx context.Context, plan store.Plan) (*api.Snapshot, []store.Result, error) {
	undo := func() {} // what the last answer of plan took down
	s, results, err := v.Store.Apply(ctx, func(now *api.Snapshot) ([]store.Write, error) {
		undo()
		undo = func() {}
		asked, err := plan(now)
		if err != nil {
			return nil, err
		}
		var writes []store.Write
		writes, undo = v.given(now, asked)
		return writes, nil
	})
	if err != nil {
		undo()
	}
	return s, results, err
}

// given are the writes with the addresses that they need, which nobody else is given from
// here on.
func (v *withVIPs) given(now *api.Snapshot, asked []store.Write) (out []store.Write, undo func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	out = asked
	var moved []api.Change
	for i, w := range asked {
		before, _ := now.Get(w.Ref())
		o := w.Put
		if o != nil && resolve.NeedsVIP(o, v.books.own(now, o)) {
			if &out[0] == &asked[0] {
				out = slices.Clone(asked)
			}
			o = v.give(o)
			out[i].Put = o
		}
		v.books.move(before, o)
		moved = append(moved, api.Change{Before: before, After: o})
	}
	return out, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, c := range slices.Backward(moved) {
			v.books.move(c.After, c.Before)
		}
	}
}

// give is o with an address that nobody has; o itself where there is none.
func (v *withVIPs) give(o *api.Object) *api.Object {
	request := resolve.VIPRequest(o, v.labels)
	for round := range vips.Rounds {
		block, _, ok := request.Wants(round)
		if !ok {
			return o
		}
		if at, ok := vips.Assign(block, []vips.Request{request}, round, v.books.taken(o)).At[request.Key]; ok {
			return resolve.WithVIP(o, at)
		}
	}
	return o
}
