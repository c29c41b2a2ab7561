package peers

import (
	"cmp"
	"maps"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web/sidecars"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/store"
)

// source is the part of a resolve.Model that a ledger reads.
type source interface {
	Dataplane(api.Ref) (*effective.Resolved, bool)
}

// ledger is what a replica knows of the sidecars of its peers, in terms of its own model.
// Revisions are counters of each process, so a peer says by a kube.Position how much it
// knows, and the ledger which of its own revisions that covers. A sidecar follows if its
// peer says so and has heard all of which this replica has found that it concerns the
// sidecar; what concerns others does not matter, so that sidecars in sync stay so while
// documents change.
//
// It is a value of plain state: no clock, no lock, no connection.
type ledger struct {
	model    source // nil before the first publication
	revision uint64 // of the model
	steps    []store.Step
	observed store.Position // by which the model is resolved
	follows  []string       // the resources of which it hears
	needs    store.Position // what others must have heard to know the same
	peers    map[string]*peerState
	next     map[string]*peerState // what those tell anew, until it is whole
}

func newLedger() *ledger {
	return &ledger{observed: store.Position{}, needs: store.Position{}, peers: map[string]*peerState{}, next: map[string]*peerState{}}
}

// move takes what a publication of the store adds, which the model may know already.
func (l *ledger) move(s store.Step) {
	l.steps = append(l.steps, s)
	if l.model != nil && s.Revision <= l.revision {
		l.take()
	}
}

// publish makes m what holds, and names the dataplanes that it serves otherwise than the one
// before.
func (l *ledger) publish(m source, revision uint64, affected []api.Ref) {
	before := l.revision
	for p := range l.each {
		for _, ref := range affected {
			e := p.sidecars[ref]
			if e == nil {
				continue
			}
			if l.inSync(p, e) {
				l.fallBehind(p, ref, e, before)
			}
			e.touched = revision
		}
	}
	l.model, l.revision = m, revision
	l.take()
}

// take brings what is known by the steps that the model covers to the peers.
func (l *ledger) take() {
	more, n := store.Position{}, 0
	for _, s := range l.steps {
		if s.Revision > l.revision {
			break
		}
		n++
		for name, at := range s.Heard {
			if at < l.observed[name] {
				l.restored(name, at)
			}
			l.observed[name] = at
		}
		if s.Follows != nil {
			l.follows = s.Follows
		}
		raise(more, s.Changed)
	}
	l.steps = l.steps[n:]
	for name := range more {
		more[name] = min(more[name], l.observed[name]) // it may have been restored since
	}
	raise(l.needs, more)
	for p := range l.each {
		if len(more) > 0 {
			p.require(need{l.revision, maps.Clone(more)})
		}
		l.settle(p)
	}
}

// restored takes that a resource is as it was at an earlier version: who knows that much knows
// all that there is of it.
func (l *ledger) restored(name string, at uint64) {
	lower := func(p store.Position) {
		if p[name] > at {
			p[name] = at
		}
	}
	lower(l.needs)
	for p := range l.each {
		for _, n := range p.needs {
			lower(n.of)
		}
	}
}

// covers is the last of this replica's revisions that the peer knows.
func (l *ledger) covers(p *peerState) uint64 {
	if len(p.needs) > 0 {
		return p.needs[0].revision - 1
	}
	return l.revision
}

// inSync reports whether a sidecar has confirmed all that this replica would have for it.
func (l *ledger) inSync(p *peerState, e *entry) bool {
	return e.told.GetStream() != nil && e.told.GetSynced() && l.covers(p) >= e.touched
}

// fallBehind keeps what a sidecar had that was in sync with a revision.
func (l *ledger) fallBehind(p *peerState, ref api.Ref, e *entry, revision uint64) {
	e.acked, e.confirmed = revision, nil
	if l.model != nil {
		e.confirmed, _ = l.model.Dataplane(ref)
	}
	p.behind[ref] = e
}

// settle forgets what no peer lacks any more, and what sidecars had before they followed.
func (l *ledger) settle(p *peerState) {
	n := 0
	for n < len(p.needs) && p.knows(p.needs[n].of) {
		n++
	}
	p.needs = p.needs[n:]
	for ref, e := range p.behind {
		if p.sidecars[ref] != e || l.inSync(p, e) {
			e.confirmed = nil
			delete(p.behind, ref)
		}
	}
}

// hear takes what a peer tells.
func (l *ledger) hear(peer string, t *Told) {
	p := cmp.Or(l.next[peer], l.peers[peer])
	if p == nil { // it ended meanwhile
		return
	}
	for _, s := range t.GetSidecars() {
		l.hold(p, refOf(s.GetDataplane()), s)
	}
	for _, d := range t.GetGone() {
		ref := refOf(d)
		p.count(ref, p.sidecars[ref], nil)
		delete(p.sidecars, ref)
	}
	p.follow(t.GetFollows())
	maps.Copy(p.observed, t.GetHeard()) // which may be less than before
	p.whole = p.whole || t.GetWhole()
	l.settle(p)
	if p.whole && l.next[peer] == p {
		l.renew(peer)
	}
}

func (l *ledger) hold(p *peerState, ref api.Ref, s *Sidecar) {
	e := p.sidecars[ref]
	p.count(ref, e, s)
	if e == nil {
		p.sidecars[ref] = &entry{told: s, touched: l.revision}
		return
	}
	was := l.inSync(p, e)
	e.told = s
	if was && !l.inSync(p, e) {
		l.fallBehind(p, ref, e, l.revision)
	}
}

// state is what the ledger knows of a sidecar.
func (l *ledger) state(peer string, p *peerState, ref api.Ref, e *entry) (inspect.Sidecar, sidecars.Stream) {
	told := e.told
	s := inspect.Sidecar{Dataplane: ref, Connected: told.GetStream() != nil, Published: l.covers(p), Acked: e.acked, InSync: l.inSync(p, e), Note: told.GetNote()}
	if s.InSync {
		s.Acked, s.Published = l.revision, l.revision
	} else {
		s.Confirmed = e.confirmed
	}
	if r := told.GetRefusal(); r != nil {
		s.Refusal = &inspect.Refusal{Type: r.GetType(), Resources: r.GetResources(), Message: r.GetMessage()}
	}
	if told.GetRest() && l.model != nil && l.covers(p) >= e.touched {
		s.Rest, _ = l.model.Dataplane(ref)
		s.Lacks = told.GetLacks()
	}
	for _, u := range told.GetUnconfirmed() {
		s.Unconfirmed = append(s.Unconfirmed, inspect.Unconfirmed{Type: u.GetType(), Requested: u.GetAsked(), Since: time.Unix(0, u.GetSince()), Resolving: u.GetResolving()})
	}
	return s, streamOf(peer, told)
}
