package authorities

import (
	"crypto/x509"
	"errors"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// Later is a certificate that an authority must have signed later than its store knows: since it has
// replaced a root last, and by a root that it does not know. So the store is one of before, as a backup.
type Later struct {
	Owner  api.Ref
	Signer string    // the fingerprint of the root that signs by the store
	Since  time.Time // when the authority has replaced a root last, by the store
	Ends   time.Time // of the certificate
}

// sameMoment is for how long after a root was replaced a replica may sign by the former.
const sameMoment = 5 * time.Second

// later is what an authority says of a certificate that a root has signed which nobody in its mesh knows; it
// needs the lock.
func (k *CAController) later(a *authority, issued, ends time.Time) (Later, bool) {
	if a == nil || !a.stated || !ends.After(k.cfg.Now()) || !issued.After(a.state.Since.Add(sameMoment)) {
		return Later{}, false
	}
	return Later{a.owner, a.state.Signer(), a.state.Since, ends}, true
}

// GivenLater looks at a certificate that was given before this control plane began. When it was issued is
// not known: not before a whole life before its end.
func (k *CAController) GivenLater(owner api.Ref, root string, ends time.Time) (Later, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.all[owner]
	if a == nil || slices.ContainsFunc(k.known[a.mesh], func(r known) bool { return workload.Fingerprint(r.certificate) == root }) {
		return Later{}, false
	}
	return k.later(a, ends.Add(-a.longestLife()), ends)
}

// ShownLater looks at a certificate that a sidecar shows, by its node id, and that Held does not accept. Its
// word counts for no more than a warning: it has the key, but nobody who is known has signed.
func (k *CAController) ShownLater(mesh, node string, chain [][]byte, proof []byte) (Later, bool) {
	_, err := k.Held(mesh, node, chain, proof)
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(err, &unknown) {
		return Later{}, false
	}
	leaf, err := x509.ParseCertificate(chain[0])
	if err != nil || len(leaf.URIs) == 0 {
		return Later{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range sorted(k.all) {
		if a.mesh == mesh && a.domain == leaf.URIs[0].Host {
			return k.later(a, leaf.NotBefore.Add(workload.Leeway), leaf.NotAfter)
		}
	}
	return Later{}, false
}
