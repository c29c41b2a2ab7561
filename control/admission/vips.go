package admission

import (
	"slices"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/hostnames"
	"github.com/weftmesh/weft/resolve/vips"
	"github.com/weftmesh/weft/store"
)

// allocator gives virtual addresses out: services that are given one have it in their status from
// their first revision on.
type allocator struct {
	labels map[string]string // that the control plane computes

	mu    sync.Mutex
	books vipBooks
}

func newVIPs(zone api.Zone, now func() time.Time) *allocator {
	return &allocator{labels: zone.Labels(), books: newVIPBooks(now)}
}

// given are the writes with the addresses that they need, which nobody else is given from
// here on.
func (v *allocator) given(now *snapshot.Snapshot, asked []store.Write) (out []store.Write, undo func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	out, moved := v.give(now, asked)
	return out, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, c := range slices.Backward(moved) {
			v.books.move(c.After, c.Before)
		}
	}
}

// planned are the writes with the addresses that they would be given now.
func (v *allocator) planned(now *snapshot.Snapshot, asked []store.Write) []store.Write {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.books.keep()
	defer v.books.restore()
	out, _ := v.give(now, asked)
	return out
}

func (v *allocator) give(now *snapshot.Snapshot, asked []store.Write) (out []store.Write, moved []snapshot.Change) {
	out = asked
	for i, w := range asked {
		before, _ := now.Get(w.Ref())
		o := w.Put
		if o != nil && hostnames.NeedsVIP(o, v.books.own(now, o)) {
			if &out[0] == &asked[0] {
				out = slices.Clone(asked)
			}
			o = v.addressed(o)
			out[i].Put = o
		}
		v.books.move(before, o)
		moved = append(moved, snapshot.Change{Before: before, After: o})
	}
	return out, moved
}

// addressed is o with an address that nobody has; o itself where there is none.
func (v *allocator) addressed(o *api.Object) *api.Object {
	request := hostnames.VIPRequest(o, v.labels)
	for round := range vips.Rounds {
		block, _, ok := request.Wants(round)
		if !ok {
			return o
		}
		if at, ok := vips.Assign(block, []vips.AddressRequest{request}, round, v.books.taken(o)).At[request.Key]; ok {
			return hostnames.WithVIP(o, at)
		}
	}
	return o
}
