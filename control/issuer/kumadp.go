package issuer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/secrets"
	"github.com/weftmesh/weft/xds/server/authority/workload"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// ControlPlaneKeys are the sidecars whose agents make no key for their workload, as Kuma's kuma-dp: the
// control plane makes one, and sends it with its certificate on the stream of that sidecar alone
// (spec/identity.md 2.3). A key is in the memory of this process until that stream is over, and
// nowhere else: a sidecar that comes back gets another one.
type ControlPlaneKeys struct {
	by   *Certifier
	ads  giver
	told told
	now  func() time.Time

	mu sync.Mutex
	of map[uint64]*keyStream // by the number of the stream
}

// giver sends a key and its certificate on one stream; false where that is over.
type giver interface {
	Give(dp api.Ref, stream uint64, secret *resource.Resource) bool
}

// told hears of sidecars without keys of their own.
type told interface {
	// OverADS is told of a stream whether its sidecar has no agent that makes a key.
	OverADS(dp api.Ref, is bool)
	// Given is told which certificate a sidecar is being sent.
	Given(dp api.Ref, h authorities.ProvenCertificate)
}

// keyStream is one stream of such a sidecar.
type keyStream struct {
	peer   syncstatus.Peer
	end    context.Context
	leave  context.CancelFunc
	timer  *time.Timer // when the next certificate is due
	giving sync.Mutex  // held while one is made
	pauses *backoff.ExponentialBackOff
}

// The pauses between two attempts (spec/identity.md 2.3).
const (
	firstGivePause   = time.Second
	longestGivePause = 5 * time.Minute
)

func NewControlPlaneKeys(by *Certifier, ads giver, told told, now func() time.Time) *ControlPlaneKeys {
	return &ControlPlaneKeys{by: by, ads: ads, told: told, now: now, of: map[uint64]*keyStream{}}
}

// Joined is told of each stream of ADS.
func (k *ControlPlaneKeys) Joined(p syncstatus.Peer) {
	k.told.OverADS(p.Dataplane, p.Proof != nil)
	if p.Proof == nil {
		return
	}
	x := &keyStream{peer: p, pauses: &backoff.ExponentialBackOff{InitialInterval: firstGivePause, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: longestGivePause}}
	x.end, x.leave = context.WithCancel(context.Background())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of[p.Stream] = x
	x.timer = time.AfterFunc(0, func() { k.give(x) })
}

// Left is told of the end of each.
func (k *ControlPlaneKeys) Left(p syncstatus.Peer) {
	if p.Proof == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if x := k.of[p.Stream]; x != nil {
		x.leave()
		x.timer.Stop()
		delete(k.of, p.Stream)
	}
}

// Again has a dataplane certified now, by the name by which its sidecar calls it, unless that is
// under way; false where it has no stream here that wants it.
func (k *ControlPlaneKeys) Again(name api.Ref) (found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, x := range k.of {
		if x.peer.Dataplane.AsNode() != name {
			continue
		}
		if found = true; x.giving.TryLock() {
			x.timer.Reset(0)
			x.giving.Unlock()
		}
	}
	return found
}

// Expire forgets who has nothing to wait for any more of what bounds certificates.
func (k *ControlPlaneKeys) Expire(at time.Time) { k.by.limiter.expire(at) }

// give has a key certified and sends both, and says when to do so again.
func (k *ControlPlaneKeys) give(x *keyStream) {
	x.giving.Lock()
	defer x.giving.Unlock()
	wait, err := k.certify(x)
	switch {
	case x.end.Err() != nil:
		return
	case errors.Is(err, errNoIdentity): // who gets one is told of
		x.pauses.Reset()
		return
	case err != nil:
		k.by.refused("", x.peer.Dataplane, err)
		wait = x.pauses.NextBackOff()
	default:
		k.by.refusal.forget(x.peer.Dataplane)
		x.pauses.Reset()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[x.peer.Stream] == x {
		x.timer.Reset(wait)
	}
}

// certify gives a new key and its certificate to a stream, and says for how long they do.
func (k *ControlPlaneKeys) certify(x *keyStream) (good time.Duration, err error) {
	if k.by.Proof != nil {
		return 0, k.by.Proof
	}
	dp := x.peer.Dataplane
	model, err := k.by.Model(x.end)
	if err != nil {
		return 0, err
	}
	o, ok := model.Snapshot().Get(dp)
	if !ok {
		return 0, errNoIdentity
	}
	if by, ok := spireOf(model, o); ok {
		why := api.IdentityRefusal{Code: api.CodeNoSVID, Message: fmt.Sprintf("by %s its certificates come from the SPIRE beside it, which its kuma-dp asks for none; run `weft sidecar` there", by.Ref)}
		k.by.Answered(dp, why)
		return 0, why
	}
	if _, _, err := k.by.proves(model, o, *x.peer.Proof); err != nil {
		return 0, err
	}
	if !k.by.limiter.allow(dp) {
		return 0, errTooMany
	}
	key, err := workload.NewKey()
	if err != nil {
		return 0, err
	}
	got, err := k.by.issue(x.end, model, o, *x.peer.Proof, &key.PublicKey)
	if err != nil {
		return 0, err
	}
	text, err := workload.KeyPEM(key)
	if err != nil {
		return 0, err
	}
	given := secrets.RenderIdentity(dp.Mesh, got.Chain.PEM(), text)
	if k.ads.Give(dp, x.peer.Stream, given) {
		k.told.Given(dp, authorities.ProvenCertificate{Owner: got.owner, Root: got.Root, Names: got.names, Issued: got.At, Ends: got.Ends})
	}
	return got.RenewAt.Sub(k.now()), nil
}
