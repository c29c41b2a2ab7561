package control

import (
	"iter"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
)

// leaf is what is known of the certificate of one sidecar.
type leaf struct {
	owner api.Ref // the document of the authority that has signed it
	root  string  // the fingerprint of its root
	ends  time.Time
}

// leaves are the certificates that sidecars have, as far as this control plane has given them
// out or was told of them.
type leaves struct {
	plane   *Plane
	ledger  *ledger    // nil in a cluster
	unknown *time.Time // what the last ledger said of others; nil where there was none

	mu    sync.Mutex
	has   map[api.Ref]leaf
	acked map[trusting]acknowledged
}

// trusting is who trusts the roots of an authority.
type trusting struct{ dp, owner api.Ref }

// acknowledged is a generation of trust, and since which revision it has been published: where a
// state was lost or restored, one that comes back is another.
type acknowledged struct{ trust, since uint64 }

func newLeaves(p *Plane) *leaves {
	l := &leaves{plane: p, has: map[api.Ref]leaf{}, acked: map[trusting]acknowledged{}}
	if p.cluster == nil {
		l.keep(p.cfg.DataDir)
	}
	return l
}

// sidecar is what a rotation asks of a sidecar. It has acknowledged whom it is to trust when it
// has everything of a model that knows it: what keeps a model waits until it is published.
func (l *leaves) sidecar(dp, owner api.Ref) rotation.Sidecar {
	s := rotation.Sidecar{Name: dp.FullName()}
	trust, since := l.plane.keeper.Trust(owner)
	m := l.plane.loop.current.Load()
	known := m != nil && m.Snapshot().Revision() >= since
	st, ok := l.plane.sidecars().Sidecar(dp)
	l.mu.Lock()
	defer l.mu.Unlock()
	at := trusting{dp, owner}
	if ok {
		s.Connected = st.Connected
	}
	if known && s.Connected && (st.InSync || trust == 1) { // the first roots replace none
		l.acked[at] = acknowledged{trust, since}
	}
	if of := l.acked[at]; of.since == since {
		s.Trust = of.trust
	}
	return s
}

// gave takes note of a certificate. One of before may still be in use, so that the later end of
// the two counts.
func (l *leaves) gave(dp api.Ref, x leaf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.has[dp]; ok && before.owner == x.owner && before.ends.After(x.ends) {
		x.ends = before.ends
	}
	l.has[dp] = x
}

// all are the sidecars with a certificate of an authority.
func (l *leaves) all(owner api.Ref) iter.Seq[rotation.Sidecar] {
	now := l.plane.cfg.clock()()
	l.mu.Lock()
	has := map[api.Ref]leaf{}
	for dp, x := range l.has {
		switch {
		case !x.ends.After(now):
			delete(l.has, dp)
			delete(l.acked, trusting{dp, x.owner})
		case x.owner == owner:
			has[dp] = x
		}
	}
	l.mu.Unlock()
	return func(yield func(rotation.Sidecar) bool) {
		for dp, x := range has {
			s := l.sidecar(dp, owner)
			if s.Root, s.Ends = x.root, x.ends; !yield(s) {
				return
			}
		}
	}
}

// of is what is known of the sidecars for whom an authority signs.
func (l *leaves) of(owner api.Ref) rotation.World { return rotation.World{Sidecars: l.all(owner)} }
