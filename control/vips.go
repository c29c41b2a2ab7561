package control

import (
	"context"
	"fmt"
	"net/netip"
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
// status from their first revision on.
type withVIPs struct {
	store.Store
	labels map[string]string // that the control plane computes
	now    func() time.Time

	mu    sync.Mutex
	taken takenVIPs
}

// takenVIPs are the addresses of a store at one revision, by mesh, and those that rest.
type takenVIPs struct {
	revision uint64
	known    bool
	by       map[heldVIP]api.Ref
	rests    map[heldVIP]rest
	pruned   int // how many rested when those that had rested were forgotten last
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
	v := &withVIPs{Store: into, labels: zone.Labels(), now: now}
	v.taken.rests = map[heldVIP]rest{}
	_, _, err := v.Apply(ctx, func(s *api.Snapshot) ([]store.Write, error) {
		var writes []store.Write
		for _, kind := range resolve.VirtualKinds() {
			for o := range s.OfKind(kind) {
				if resolve.NeedsVIP(o) {
					writes = append(writes, store.Write{Put: o, Own: true})
				}
			}
		}
		return writes, nil
	})
	if err != nil {
		return nil, fmt.Errorf("give virtual addresses: %w", err)
	}
	return v, nil
}

// Apply does what plan says, with an address in the status of each service that needs one.
func (v *withVIPs) Apply(ctx context.Context, plan store.Plan) (*api.Snapshot, []store.Result, error) {
	v.mu.Lock() // what is given out here nobody else may give out before it is stored
	defer v.mu.Unlock()
	var before *api.Snapshot
	var writes []store.Write
	s, results, err := v.Store.Apply(ctx, func(now *api.Snapshot) ([]store.Write, error) {
		asked, err := plan(now)
		if err != nil {
			return asked, err
		}
		before, writes = now, v.given(now, asked)
		return writes, nil
	})
	if err == nil && before != nil {
		v.learn(before, s, writes)
	}
	return s, results, err
}

// given are the writes with the addresses that they need.
func (v *withVIPs) given(now *api.Snapshot, asked []store.Write) []store.Write {
	var out []store.Write
	coming := map[heldVIP]bool{}
	for i, w := range asked {
		if w.Put == nil || !resolve.NeedsVIP(w.Put) {
			continue
		}
		if out == nil {
			out = append(out, asked...)
			v.catchUp(now)
		}
		out[i].Put = v.give(w.Put, coming)
	}
	if out == nil {
		return asked
	}
	return out
}

// give is o with an address that nobody has; o itself where there is none.
func (v *withVIPs) give(o *api.Object, coming map[heldVIP]bool) *api.Object {
	request := resolve.VIPRequest(o, v.labels)
	for round := range vips.Rounds {
		block, _, ok := request.Wants(round)
		if !ok {
			return o
		}
		at, ok := vips.Assign(block, []vips.Request{request}, round, v.isTaken(o.Ref, o.Mesh, coming)).At[request.Key]
		if ok {
			coming[heldVIP{o.Mesh, at}] = true
			return resolve.WithVIP(o, at)
		}
	}
	return o
}

// isTaken reports which addresses an object may not have.
func (v *withVIPs) isTaken(ref api.Ref, mesh string, coming map[heldVIP]bool) func(netip.Addr) bool {
	return func(a netip.Addr) bool {
		at := heldVIP{mesh, a}
		by, held := v.taken.by[at]
		gone, resting := v.taken.rests[at]
		return coming[at] || held && by != ref || resting && gone.of != ref && v.now().Sub(gone.since) < restOfVIP
	}
}

// catchUp reads who has which address where that is not known: at the first time, and after
// writes of others.
func (v *withVIPs) catchUp(now *api.Snapshot) {
	if v.taken.known && v.taken.revision == now.Revision() {
		return
	}
	v.taken.known, v.taken.revision, v.taken.by = true, now.Revision(), map[heldVIP]api.Ref{}
	for _, kind := range resolve.VirtualKinds() {
		for o := range now.OfKind(kind) {
			v.hold(o)
		}
	}
}

func (v *withVIPs) hold(o *api.Object) {
	for a := range resolve.StoredVIPs(o) {
		v.taken.by[heldVIP{o.Mesh, a}] = o.Ref
	}
}

// learn takes down what writes that were done have changed.
func (v *withVIPs) learn(before, after *api.Snapshot, writes []store.Write) {
	follows := v.taken.known && v.taken.revision == before.Revision()
	for _, w := range writes {
		ref := w.Ref()
		was, _ := before.Get(ref)
		is, _ := after.Get(ref)
		if was != nil && was != is {
			for a := range resolve.StoredVIPs(was) {
				at := heldVIP{was.Mesh, a}
				if v.taken.by[at] == ref {
					delete(v.taken.by, at)
				}
				v.taken.rests[at] = rest{ref, v.now()}
			}
		}
		if is != nil && follows {
			v.hold(is)
		}
	}
	if follows {
		v.taken.revision = after.Revision()
	}
	if len(v.taken.rests) > max(mostRests, 2*v.taken.pruned) {
		for at, gone := range v.taken.rests {
			if v.now().Sub(gone.since) >= restOfVIP {
				delete(v.taken.rests, at)
			}
		}
		v.taken.pruned = len(v.taken.rests)
	}
}

// mostRests is how many addresses may rest before those that have rested are forgotten.
const mostRests = 1024
