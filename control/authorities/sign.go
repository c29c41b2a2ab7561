package authorities

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// Issued is a certificate with what its owner has to know of it.
type Issued struct {
	Chain   workload.CertificateChain
	Root    string // the fingerprint of the root above it
	At      time.Time
	Ends    time.Time
	RenewAt time.Time
}

// Why nothing is signed.
var (
	ErrNoAuthority = errors.New("there is no authority for this dataplane")
	ErrNotReady    = errors.New("the authority is not ready yet; try again")
	ErrNotTrusting = errors.New("the sidecar's Envoy has not acknowledged yet whom it is to trust; try again")
)

// leastLife is how long a certificate lives at least: below, its authority has no time left.
const leastLife = 5 * time.Minute

// Sign makes a certificate of an authority, for names that a sidecar has proved. It is one of
// the errors above, or says what is wrong with the authority.
func (k *CAController) Sign(owner api.Ref, names []string, key *ecdsa.PublicKey, to rotation.Sidecar) (Issued, error) {
	k.mu.Lock()
	a := k.all[owner]
	var by *workload.LocalAuthority
	if a != nil && a.stated {
		by = k.locals[a.state.Signer()]
	}
	k.mu.Unlock()
	now := k.cfg.Now()
	switch {
	case a == nil:
		return Issued{}, ErrNoAuthority
	case a.fault != "" && by == nil:
		return Issued{}, errors.New(a.fault)
	case by == nil:
		return Issued{}, ErrNotReady
	case !a.state.MayIssue(to):
		return Issued{}, ErrNotTrusting
	}
	// What may be given out was reserved before: nobody signs beyond what the state says.
	life := min(a.certificateLife(a.state), a.state.Reserved().Sub(now))
	if life < leastLife {
		return Issued{}, ErrNotReady
	}
	chain, err := by.Sign(names, key, life)
	if err != nil {
		return Issued{}, fmt.Errorf("sign for %s: %w", names[0], err)
	}
	out := Issued{Chain: chain, Root: a.state.Signer(), At: now, Ends: chain[0].NotAfter}
	out.RenewAt = workload.RenewAt(now, out.Ends, to.Name)
	return out, nil
}

// State is where the rotation of an authority stands, and what it waits for.
func (k *CAController) State(owner api.Ref) (rotation.State, rotation.Waiting, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.all[owner]
	if a == nil || !a.stated {
		return rotation.State{}, rotation.Waiting{}, false
	}
	return a.state, k.waits[owner], true
}

// Before is until when there may be certificates of the authorities of a mesh of which this control
// plane was not told since it began; zero where there can be none.
func (k *CAController) Before(mesh string) time.Time {
	return k.unheard(func(owner api.Ref) bool { a := k.all[owner]; return a != nil && a.mesh == mesh })
}

// Unknown is the latest of Before of all meshes, those too whose documents are gone.
func (k *CAController) Unknown() time.Time { return k.unheard(func(api.Ref) bool { return true }) }

// unheard is Before of those authorities that of chooses, which has the lock.
func (k *CAController) unheard(of func(owner api.Ref) bool) (until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for owner, end := range k.before {
		if of(owner) && end.After(until) {
			until = end
		}
	}
	return until
}

// Trust is the generation of what those are to trust who meet an authority's leaves, and the
// revision of the store in which it stood first with its MeshTrust, as far as is known here; one
// that never comes where it does not yet.
func (k *CAController) Trust(owner api.Ref) (generation, since uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a := k.all[owner]; a != nil && a.stated {
		return a.state.Trust, a.since
	}
	return 0, 0
}
