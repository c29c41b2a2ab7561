package peers

import (
	"maps"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// What replicas find out of their sidecars stands in no store, and others are configured by it:
// whose endpoints take mutual TLS. How far a replica is with it is a resource of its own, whose
// versions a peer has heard of when what they say holds there.
const learntBy = "sidecars of "

// Learnt says that something was found out of a sidecar here by which sidecars of peers are
// configured too: none is in sync before its replica has heard of it.
func (r *Replica) Learnt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := learntBy + r.cfg.Name
	// Versions grow over restarts of a replica, too.
	r.ledger.learnt(name, max(r.ledger.observed[name]+1, uint64(time.Now().UnixMicro())))
	r.advance()
}

// Follows says that what peers had learnt holds here by now.
func (r *Replica) Follows(what store.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.ledger.observed, what)
	r.advance()
}

// learn hands on what a peer has told of its sidecars, and how far it is with that.
func (r *Replica) learn(f *following, t *Told) {
	if r.cfg.OnSidecar != nil {
		for _, s := range t.GetSidecars() {
			r.cfg.OnSidecar(refOf(s.GetDataplane()), s)
		}
	}
	if n := t.GetHeard()[learntBy+f.name]; n > 0 && r.cfg.Learns != nil {
		r.cfg.Learns(store.Position{learntBy + f.name: n})
	}
}

// Of is what peers tell of a sidecar now.
func (r *Replica) Of(ref api.Ref) (out []*Sidecar) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.ledger.peers {
		if e := p.sidecars[ref]; e != nil {
			out = append(out, e.told)
		}
	}
	return out
}

// learnt has all peers hear of a version before their sidecars are in sync.
func (l *ledger) learnt(name string, version uint64) {
	l.observed[name] = version
	raise(l.needs, store.Position{name: version})
	for p := range l.each {
		p.require(need{l.revision, store.Position{name: version}})
	}
}

// ofReplica reports whether a resource is what a replica has learnt, which all hear of that follow
// the replica.
func ofReplica(name string) bool { return strings.HasPrefix(name, learntBy) }
