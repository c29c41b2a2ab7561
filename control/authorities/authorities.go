// Package authorities keeps the authorities of meshes at run time (spec/identity.md 2): those
// of Mesh.mtls, and those of MeshIdentities of type Bundled. Of authorities outside, which sign
// beside workloads, it publishes whom to trust as far as they tell it.
//
// It makes roots where weft is to make them, once: a root signs and is trusted only after the
// store has given it back. It publishes what is to be trusted as MeshTrusts, replaces roots by
// package rotation, and signs for whoever has proved a name; who that is it does not decide.
// In a cluster one replica makes and publishes, and every one signs.
package authorities

import (
	"context"
	"crypto/x509"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// Config is what a CAController is told.
type Config struct {
	Zone api.Zone
	// Namespace is that of the control plane in a cluster, where it keeps Secrets and MeshTrusts;
	// empty elsewhere. System are all namespaces in which operators write.
	Namespace string
	System    []string
	// CAFileRoot is the directory below which files of authorities may lie; empty for none.
	CAFileRoot string
	// Keep does writes of the control plane.
	Keep func(context.Context, store.Plan) error
	// Leads reports whether this replica makes and publishes; nil is always.
	Leads func() bool
	// Gone reports whether a document that the store has not is not there at all, and not only
	// one that cannot be read; nil is always.
	Gone func(kind, name string) bool
	// Relied reports whether dataplanes of a mesh may rely on what its documents of a revision say no
	// more, so that whom they trust stays; nil is never.
	Relied func(mesh string, revision uint64) bool
	// Sidecars are those of a mesh for whom an authority signs, as far as they are known here.
	Sidecars func(owner api.Ref) rotation.Fleet
	// Before is until when there may be certificates that this control plane was not told of, where the last
	// one that was signed before it began ends at last; nil is until then.
	Before func(last time.Time) time.Time
	// Blind reports whether others sign of whose leaves is not heard now; nil is never.
	Blind func() bool
	// Certify asks the sidecar of a dataplane, by the name by which it calls itself, to have its
	// workload certified now; nil asks none.
	Certify func(dp api.Ref)
	// Spread is over how long renewals because of another root are spread.
	Spread time.Duration
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
}

// CAController keeps authorities in step with the documents of a store.
type CAController struct {
	cfg   Config
	again chan struct{} // has a token while something may have moved

	mu     sync.Mutex
	all    map[api.Ref]*authority
	locals map[string]*workload.LocalAuthority // by the fingerprint of their root, so that each keeps its intermediate
	known  map[string][]known                  // the roots of a mesh
	waits  map[api.Ref]rotation.Waiting
	before map[api.Ref]time.Time // until when there may be certificates of before this control plane began; nil before it has
	asked  map[string]time.Time  // when a sidecar was asked to renew, by authority and name
	broken string                // why writing failed last
	trusts []*api.Object         // the MeshTrusts that people wrote
	// bundles are the roots of trust domains, as an authority outside has told them.
	bundles map[string][]*x509.Certificate
	silent  string     // why it tells nothing newer; empty where it does
	others  []Standing // the authorities outside of all meshes
}

// New makes a keeper; Run has it follow a store.
func New(cfg Config) *CAController {
	return &CAController{cfg: cfg, again: make(chan struct{}, 1), locals: map[string]*workload.LocalAuthority{}, waits: map[api.Ref]rotation.Waiting{}, asked: map[string]time.Time{}}
}

// notYet is the revision in which something stands that stands nowhere yet.
const notYet = math.MaxUint64

// The rhythm of a keeper.
const (
	every     = 30 * time.Second // between two looks at files and at rotations
	eagerly   = time.Second      // while a root is replaced
	afterFail = 2 * time.Second
)

// concerns reports whether an authority may depend on a change.
func (k *CAController) concerns(c snapshot.Change) bool {
	switch c.Ref().Kind {
	case api.KindMesh, api.KindMeshIdentity, api.KindMeshTrust, api.KindSecret:
		return true
	}
	return c.After != nil && k.awaits(meshJoined(c.After))
}

// Follow keeps the authorities in step until ctx ends or the store is closed.
func (k *CAController) Follow(ctx context.Context, s store.Store) {
	now, watch := s.Watch()
	defer watch.Stop()
	changed := make(chan struct{}, 1)
	go func() {
		for {
			_, changes, err := watch.Next(ctx)
			if err != nil {
				return
			}
			if slices.ContainsFunc(changes, k.concerns) {
				signal(changed)
			}
		}
	}()
	k.Take(now)
	for {
		k.heed()
		pause := k.step(ctx, s)
		k.renew()
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-k.again:
		case <-time.After(pause):
		}
		k.Take(s.Snapshot())
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Enqueue has the keeper look again: a sidecar has come, has gone or has acknowledged.
func (k *CAController) Enqueue() { signal(k.again) }

// step writes what is missing, and says when to look again.
func (k *CAController) step(ctx context.Context, s store.Store) time.Duration {
	if k.cfg.Leads != nil && !k.cfg.Leads() {
		k.note(nil)
		k.watch()
		return k.pause()
	}
	made := making{}
	writes := k.plan(s.Snapshot(), made)
	if len(writes) == 0 {
		return k.pause()
	}
	err := k.cfg.Keep(ctx, func(now *snapshot.Snapshot) ([]store.Write, error) { return k.plan(now, made), nil })
	k.note(err)
	if err != nil {
		return afterFail
	}
	k.Take(s.Snapshot())
	k.Enqueue() // for who has joined in between
	return k.pause()
}

// heed takes note that there may be certificates of which nothing is known here: those that somebody has
// signed who was not heard.
func (k *CAController) heed() {
	if k.cfg.Blind == nil || !k.cfg.Blind() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for ref, a := range k.all {
		if end := a.state.LastEnd(); end.After(k.before[ref]) {
			k.before[ref] = end
		}
	}
}

// watch finds out what rotations wait for that another replica drives.
func (k *CAController) watch() {
	k.mu.Lock()
	all := maps.Clone(k.all)
	k.mu.Unlock()
	for ref, a := range all {
		if a.stated && a.state.Phase != rotation.Steady && k.cfg.Sidecars != nil {
			_, wait := a.state.Step(k.fleet(ref), k.cfg.Now())
			k.mu.Lock()
			k.waits[ref] = wait
			k.mu.Unlock()
		}
	}
}

// fleet is what is known of the sidecars of an authority.
func (k *CAController) fleet(owner api.Ref) rotation.Fleet {
	w := k.cfg.Sidecars(owner)
	k.mu.Lock()
	defer k.mu.Unlock()
	w.Unknown = k.before[owner]
	return w
}

// pause is shorter while a root is replaced.
func (k *CAController) pause() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range k.all {
		if a.stated && a.state.Phase != rotation.Steady {
			return eagerly
		}
	}
	return every
}

// note logs a failure once.
func (k *CAController) note(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if text != "" && text != k.broken {
		k.cfg.Log.Warn("authorities cannot be kept; what was issued stays good", "error", err)
	}
	k.broken = text
}

// Take has the keeper sign by what a snapshot says.
func (k *CAController) Take(s *snapshot.Snapshot) {
	all := k.read(s)
	known, others := k.knownRoots(s, all), k.standOutside(s)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trusts = slices.DeleteFunc(slices.Collect(s.OfKind(api.KindMeshTrust)), api.MadeByWeft)
	k.known, k.others = known, others
	for ref, a := range all {
		before := k.all[ref]
		switch {
		case k.trust(s, a) != nil: // where several objects are not written at once, it comes later
			a.since = notYet
		case before != nil && before.stated && before.state.Trust == a.state.Trust && before.since != notYet:
			a.since = before.since
		default:
			a.since = s.Revision()
		}
		if a.fault != "" && (before == nil || before.fault != a.fault) {
			k.cfg.Log.Warn("an authority cannot sign", "of", ref.String(), "why", a.fault)
		}
		if a.stated && (before == nil || before.state.Phase != a.state.Phase) {
			k.cfg.Log.Info("authority", "of", ref.String(), "phase", string(a.state.Phase), "signs", a.state.Signer())
		}
	}
	if k.all = all; k.before == nil {
		k.before = map[api.Ref]time.Time{}
		for ref, a := range all {
			if k.before[ref] = a.state.LastEnd(); k.cfg.Before != nil {
				k.before[ref] = k.cfg.Before(a.state.LastEnd())
			}
		}
	}
	used := map[string]*workload.LocalAuthority{}
	for _, a := range all {
		for _, r := range a.roots {
			if r.signer == nil {
				continue
			}
			print := r.fingerprint()
			if used[print] = k.locals[print]; used[print] == nil {
				used[print] = workload.NewLocal(r.signer, k.cfg.Now)
			}
		}
	}
	k.locals = used
}
