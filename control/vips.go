package control

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/vips"
	"github.com/weftmesh/weft/store"
)

// restOfVIP is how long the address of a service that was deleted is given to no other:
// clients may still have it by the old name (spec/kubernetes.md 3.8).
const restOfVIP = time.Hour

// withVIPs is a store in which services that are given a virtual address have it in their
// status from their first revision on. All writes go through it.
type withVIPs struct {
	store.Store
	labels map[string]string // that the control plane computes
	now    func() time.Time

	mu     sync.Mutex
	by     map[heldVIP]api.Ref // whose an address is, or was to be when a write failed
	rests  map[heldVIP]rest
	pruned int // how many rested when those that had rested were forgotten last
}

type heldVIP struct {
	mesh string
	at   netip.Addr
}

// rest is the address of a service that is gone.
type rest struct {
	of    api.Ref
	since time.Time
}

// newVIPs gives addresses out in a store, and to what is in it already.
func newVIPs(ctx context.Context, into store.Store, zone api.Zone, now func() time.Time) (*withVIPs, error) {
	v := &withVIPs{Store: into, labels: zone.Labels(), now: now, by: map[heldVIP]api.Ref{}, rests: map[heldVIP]rest{}}
	var writes []store.Write
	for _, kind := range resolve.VirtualKinds() {
		for o := range into.Snapshot().OfKind(kind) {
			v.hold(o)
			if resolve.NeedsVIP(o) {
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
	var before *api.Snapshot
	var writes []store.Write
	s, results, err := v.Store.Apply(ctx, func(now *api.Snapshot) ([]store.Write, error) {
		asked, err := plan(now)
		before, writes = now, v.given(asked)
		return writes, err
	})
	if err == nil && before != nil {
		v.learn(before, s, writes)
	}
	return s, results, err
}

// given are the writes with the addresses that they need, which nobody else is given from
// here on.
func (v *withVIPs) given(asked []store.Write) []store.Write {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := asked
	for i, w := range asked {
		if w.Put == nil {
			continue
		}
		if resolve.NeedsVIP(w.Put) {
			if &out[0] == &asked[0] {
				out = slices.Clone(asked)
			}
			out[i].Put = v.give(w.Put)
		}
		v.hold(out[i].Put)
	}
	return out
}

// give is o with an address that nobody has; o itself where there is none.
func (v *withVIPs) give(o *api.Object) *api.Object {
	request := resolve.VIPRequest(o, v.labels)
	for round := range vips.Rounds {
		block, _, ok := request.Wants(round)
		if !ok {
			return o
		}
		if at, ok := vips.Assign(block, []vips.Request{request}, round, v.isTaken(o.Ref, o.Mesh)).At[request.Key]; ok {
			return resolve.WithVIP(o, at)
		}
	}
	return o
}

// isTaken reports which addresses an object may not have.
func (v *withVIPs) isTaken(ref api.Ref, mesh string) func(netip.Addr) bool {
	return func(a netip.Addr) bool {
		at := heldVIP{mesh, a}
		by, held := v.by[at]
		gone, resting := v.rests[at]
		return held && by != ref || resting && gone.of != ref && v.now().Sub(gone.since) < restOfVIP
	}
}

// hold takes down the addresses of an object. Of two with one address that of the first
// stands; the model says which of them has it.
func (v *withVIPs) hold(o *api.Object) {
	for a := range resolve.StoredVIPs(o) {
		if at := (heldVIP{o.Mesh, a}); v.by[at] == (api.Ref{}) {
			v.by[at] = o.Ref
		}
	}
}

// learn lets the addresses rest of those that writes have removed.
func (v *withVIPs) learn(before, after *api.Snapshot, writes []store.Write) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, w := range writes {
		if w.Delete == nil || after.Has(*w.Delete) {
			continue
		}
		was, ok := before.Get(*w.Delete)
		if !ok {
			continue
		}
		for a := range resolve.StoredVIPs(was) {
			at := heldVIP{was.Mesh, a}
			if v.by[at] == was.Ref {
				delete(v.by, at)
				v.rests[at] = rest{was.Ref, v.now()}
			}
		}
	}
	if len(v.rests) <= max(mostRests, 2*v.pruned) {
		return
	}
	for at, gone := range v.rests {
		if v.now().Sub(gone.since) >= restOfVIP {
			delete(v.rests, at)
		}
	}
	v.pruned = len(v.rests)
}

// mostRests is how many addresses may rest before those that have rested are forgotten.
const mostRests = 1024
