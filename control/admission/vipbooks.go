package admission

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve/hostnames"
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

	before map[heldVIP]page // what restore brings back; nil where nothing is kept for it
}

// page is what the books say of one address.
type page struct {
	by      []api.Ref
	rest    rest
	resting bool
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
		for a := range hostnames.StoredVIPs(after) {
			if at := (heldVIP{after.Mesh, a}); !slices.Contains(b.by[at], after.Ref) {
				b.note(at)
				b.by[at] = append(b.by[at], after.Ref)
			}
		}
	}
	if before == nil {
		return
	}
	for a := range hostnames.StoredVIPs(before) {
		at := heldVIP{before.Mesh, a}
		if after != nil && has(after, a) {
			continue
		}
		b.note(at)
		b.by[at] = slices.DeleteFunc(b.by[at], func(r api.Ref) bool { return r == before.Ref })
		if len(b.by[at]) == 0 {
			delete(b.by, at)
			b.rests[at] = rest{before.Ref, b.now()}
		}
	}
	b.prune()
}

// keep begins to keep what the books say, for restore.
func (b *vipBooks) keep() { b.before = map[heldVIP]page{} }

// restore makes the books say what they said at keep.
func (b *vipBooks) restore() {
	for at, was := range b.before {
		delete(b.by, at)
		delete(b.rests, at)
		if len(was.by) > 0 {
			b.by[at] = was.by
		}
		if was.resting {
			b.rests[at] = was.rest
		}
	}
	b.before = nil
}

// note keeps what the books say of an address that is about to change.
func (b *vipBooks) note(at heldVIP) {
	if _, kept := b.before[at]; b.before != nil && !kept {
		gone, resting := b.rests[at]
		b.before[at] = page{slices.Clone(b.by[at]), gone, resting}
	}
}

func has(o *api.Object, at netip.Addr) bool {
	for a := range hostnames.StoredVIPs(o) {
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
func (b *vipBooks) own(now *snapshot.Snapshot, o *api.Object) func(netip.Addr) bool {
	was, there := now.Get(o.Ref)
	return func(a netip.Addr) bool {
		return !slices.ContainsFunc(b.by[heldVIP{o.Mesh, a}], func(r api.Ref) bool {
			other, stored := now.Get(r)
			return r != o.Ref && (!there || stored && hostnames.Senior(other, was))
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
