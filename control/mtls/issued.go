package mtls

import (
	"iter"
	"time"
	"unique"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
)

// workloadCert is what is known of the certificate of one sidecar. There is one for each, so that it is
// small: what many have alike is one value.
type workloadCert struct {
	by    unique.Handle[signer]
	acked unique.Handle[acknowledged] // the zero Handle for nothing
	ends  second
	at    placed // of the dataplane that it was given to
}

// signer is who has signed certificates: the document of an authority, and the fingerprint of its
// root.
type signer struct {
	owner api.Ref
	root  string
}

// acknowledged is a generation of trust in an authority, and since which revision it has been
// published: where a state was lost or restored, one that comes back is another.
type acknowledged struct{ trust, since uint64 }

func newWorkloadCert(owner api.Ref, root string, ends time.Time) workloadCert {
	return workloadCert{by: unique.Make(signer{owner, root}), ends: secondOf(ends)}
}

// good reports whether there is one that has not ended.
func (x workloadCert) good(now time.Time) bool { return x != (workloadCert{}) && x.ends.after(now) }

// IssuedCertificates are the certificates that sidecars have, as far as this control plane has given them
// out or was told of them.
type IssuedCertificates struct {
	*Parts
	ledger  *ledger                   // nil where replicas share the store
	before  []issuer.GivenCertificate // what it said, until begin
	none    bool                      // there was no ledger of a control plane before this one
	unknown *time.Time                // what it said of others; nil where it said nothing

	*records
}

func NewIssuedCertificates(by *Parts) *IssuedCertificates {
	l := &IssuedCertificates{Parts: by, records: &by.records}
	by.issued = l
	if !by.Shared {
		l.keep(by.DataDir)
	}
	return l
}

// Sidecar is what a rotation asks of a sidecar. It has acknowledged whom it is to trust when it
// has everything of a model that knows it: what keeps a model waits until it is published. Of one
// with a certificate of the authority that is remembered, for when it is away.
func (l *IssuedCertificates) Sidecar(dp, owner api.Ref) rotation.Sidecar {
	s := rotation.Sidecar{Name: dp.FullName()}
	trust, since := l.Keeper.Trust(owner)
	m := l.Loop.Current()
	st, ok := l.Sidecars.Sidecar(dp)
	s.Connected = ok && st.Connected
	now := s.Connected && m != nil && m.Snapshot().Revision() >= since && (st.InSync || trust == 1) // the first roots replace none
	if now {
		s.Trust = trust
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.dataplanes.get(dp.AsNode())
	if r == nil || r.leaf == (workloadCert{}) || r.leaf.by.Value().owner != owner {
		return s
	}
	x := &r.leaf
	if now {
		x.acked = unique.Make(acknowledged{trust, since})
	}
	if x.acked != (unique.Handle[acknowledged]{}) && x.acked.Value().since == since {
		s.Trust = x.acked.Value().trust
	}
	return s
}

// gave takes note of a certificate. One of before may still be in use, so that the later end of
// the two counts.
func (l *IssuedCertificates) gave(dp api.Ref, x workloadCert) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.record(dp.AsNode())
	if before := r.leaf; before != (workloadCert{}) && before.by.Value().owner == x.by.Value().owner {
		x.ends, x.acked = max(x.ends, before.ends), before.acked
	}
	x.at = placeOf(dp)
	r.leaf = x
}

// all are the sidecars with a certificate of an authority.
func (l *IssuedCertificates) all(owner api.Ref) iter.Seq[rotation.Sidecar] {
	now := l.Now()
	l.mu.Lock()
	l.expire(now)
	has := map[api.Ref]workloadCert{}
	for dp, x := range l.good(now) {
		if x.by.Value().owner == owner {
			has[dp] = x
		}
	}
	l.mu.Unlock()
	return func(yield func(rotation.Sidecar) bool) {
		for dp, x := range has {
			s := l.Sidecar(dp, owner)
			if s.Root, s.Ends = x.by.Value().root, x.ends.time(); !yield(s) {
				return
			}
		}
	}
}

// Of is what is known of the sidecars for whom an authority signs.
func (l *IssuedCertificates) Of(owner api.Ref) rotation.Fleet {
	return rotation.Fleet{Sidecars: l.all(owner)}
}
