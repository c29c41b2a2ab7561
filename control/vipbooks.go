package control

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// restOfVIP is how long the address of a service that was deleted is given to no other:
// clients may still have it by the old name (spec/kubernetes.md 3.8).
const restOfVIP = time.Hour

// mostRests is how many addresses may rest before those that have rested are forgotten.
const mostRests = 1024

// vipBooks say who has which virtual address. move alone changes them.
type vipBooks struct {
	now    func() time.Time
	by     map[heldVIP][]api.Ref // in whose status an address is: of two the older has it
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

func newVIPBooks(now func() time.Time) vipBooks {
	return vipBooks{now: now, by: map[heldVIP][]api.Ref{}, rests: map[heldVIP]rest{}}
}

// move takes down that an object is another now; nil is none. An address that nobody has any
// more rests.
func (b *vipBooks) move(before, after *api.Object) {
	if after != nil {
		for a := range resolve.StoredVIPs(after) {
			if at := (heldVIP{after.Mesh, a}); !slices.Contains(b.by[at], after.Ref) {
				b.by[at] = append(b.by[at], after.Ref)
			}
		}
	}
	if before == nil {
		return
	}
	for a := range resolve.StoredVIPs(before) {
		at := heldVIP{before.Mesh, a}
		if after != nil && has(after, a) {
			continue
		}
		b.by[at] = slices.DeleteFunc(b.by[at], func(r api.Ref) bool { return r == before.Ref })
		if len(b.by[at]) == 0 {
			delete(b.by, at)
			b.rests[at] = rest{before.Ref, b.now()}
		}
	}
	b.prune()
}

func has(o *api.Object, at netip.Addr) bool {
	for a := range resolve.StoredVIPs(o) {
		if a == at {
			return true
		}
	}
	return false
}

// prune forgets addresses that have rested, once there are many.
func (b *vipBooks) prune() {
	if len(b.rests) <= max(mostRests, 2*b.pruned) {
		return
	}
	for at, gone := range b.rests {
		if b.now().Sub(gone.since) >= restOfVIP {
			delete(b.rests, at)
		}
	}
	b.pruned = len(b.rests)
}

// own reports which addresses in the status of an object, as it is to be, are its own: those
// that no older one has.
func (b *vipBooks) own(now *api.Snapshot, o *api.Object) func(netip.Addr) bool {
	was, there := now.Get(o.Ref)
	return func(a netip.Addr) bool {
		return !slices.ContainsFunc(b.by[heldVIP{o.Mesh, a}], func(r api.Ref) bool {
			other, stored := now.Get(r)
			return r != o.Ref && (!there || stored && resolve.Senior(other, was))
		})
	}
}

// taken reports which addresses an object may not be given.
func (b *vipBooks) taken(o *api.Object) func(netip.Addr) bool {
	return func(a netip.Addr) bool {
		at := heldVIP{o.Mesh, a}
		gone, resting := b.rests[at]
		return slices.ContainsFunc(b.by[at], func(r api.Ref) bool { return r != o.Ref }) ||
			resting && gone.of != o.Ref && b.now().Sub(gone.since) < restOfVIP
	}
}
