package peers

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/store"
)

// held is what one peer has told, from one stream of it.
type peerState struct {
	sidecars  map[api.Ref]*entry
	observed  store.Position
	follows   map[string]bool // the resources of which it hears; nil while it does not say
	needs     []need          // oldest first: revisions that the peer may not know yet
	behind    map[api.Ref]*entry
	resolving map[string]int // sidecars whose agents have a resolver, by mesh
	whole     bool
}

// need is what a peer must have heard to know a revision.
type need struct {
	revision uint64
	of       store.Position
}

// mostNeeds bounds the revisions that are told apart for a peer that does not keep up.
const mostNeeds = 1024

// entry is one sidecar.
type entry struct {
	told      *Sidecar
	touched   uint64              // the last revision in which its configuration has changed
	acked     uint64              // the revision with which it was in sync last
	confirmed *effective.Resolved // what it had then; nil while it is in sync, and for never
}

func newPeerState() *peerState {
	return &peerState{sidecars: map[api.Ref]*entry{}, observed: store.Position{}, behind: map[api.Ref]*entry{}, resolving: map[string]int{}}
}

func (p *peerState) require(n need) {
	if last := len(p.needs) - 1; len(p.needs) >= mostNeeds {
		raise(p.needs[last].of, n.of) // both are covered later than either could be
		return
	}
	p.needs = append(p.needs, n)
}

// knows reports whether the peer has heard all of what, as far as it hears of that at all.
func (p *peerState) knows(what store.Position) bool {
	for name, n := range what {
		if p.observed[name] < n && (p.follows == nil || p.follows[name] || ofReplica(name)) {
			return false
		}
	}
	return true
}

// follow takes which resources the peer follows; none where those are as before.
func (p *peerState) follow(names []string) {
	if len(names) == 0 {
		return
	}
	p.follows = map[string]bool{}
	for _, name := range names {
		p.follows[name] = true
	}
}

// differs are the resources that only one of this replica and a peer follows.
func (l *ledger) differs(p *peerState) (here, there []string) {
	if p == nil || p.follows == nil {
		return nil, nil
	}
	own := map[string]bool{}
	for _, name := range l.follows {
		if own[name] = true; !p.follows[name] {
			here = append(here, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.follows)) {
		if !own[name] {
			there = append(there, name)
		}
	}
	return here, there
}

// count keeps the number of sidecars that resolve names.
func (p *peerState) count(ref api.Ref, before *entry, now *Sidecar) {
	if before != nil && before.told.GetNames() {
		p.resolving[ref.Mesh]--
	}
	if now.GetNames() {
		p.resolving[ref.Mesh]++
	}
}

// raise makes each of at as much as that of by.
func raise(at, by store.Position) {
	for name, n := range by {
		at[name] = max(at[name], n)
	}
}

// begin makes place for what a peer is about to tell, which is all that it holds. What it has
// told before, if that did not end, stays until the new is whole.
func (l *ledger) begin(peer string) {
	p := newPeerState()
	if len(l.needs) > 0 {
		p.needs = []need{{1, maps.Clone(l.needs)}} // nobody knows which revisions it knows
	}
	if l.peers[peer] != nil {
		l.next[peer] = p
		return
	}
	l.peers[peer] = p
}

// end forgets a peer with all that it held.
func (l *ledger) end(peer string) {
	delete(l.peers, peer)
	delete(l.next, peer)
}

// renew puts what a peer has told anew in the place of what it told before.
func (l *ledger) renew(peer string) {
	before, p := l.peers[peer], l.next[peer]
	l.peers[peer] = p
	delete(l.next, peer)
	for ref, e := range p.sidecars {
		old := before.sidecars[ref]
		if old == nil {
			continue
		}
		e.touched = old.touched
		switch {
		case l.inSync(p, e):
		case l.inSync(before, old):
			l.fallBehind(p, ref, e, l.revision)
		default:
			e.acked, e.confirmed, p.behind[ref] = old.acked, old.confirmed, e
		}
	}
}

// each yields what peers have told, and what they are telling anew.
func (l *ledger) each(yield func(*peerState) bool) {
	for _, all := range []map[string]*peerState{l.peers, l.next} {
		for _, p := range all {
			if !yield(p) {
				return
			}
		}
	}
}
