package authorities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// Rotation is what people ask of the root of an authority (spec/identity.md 2.4).
type Rotation struct {
	// Abort goes back to the root that was to be replaced.
	Abort bool
	// Force has a rotation that runs trust the old root no more, whoever still has a certificate of it.
	Force bool
	// Now is a new root, and Force at once: for a root whose key is in wrong hands.
	Now bool
	// Spread is over how long certificates are renewed; 0 as the configuration says.
	Spread time.Duration
	// Dry changes nothing.
	Dry bool
}

// Rotated is where a rotation stands after a Rotation.
type Rotated struct {
	rotation.State
	// Broken are the sidecars that new connections of fail until they have another certificate, or know
	// the new root.
	Broken rotation.Waiting
}

// ErrRotation is why a Rotation is not possible as the authority is.
type ErrRotation string

// Error is what it says.
func (e ErrRotation) Error() string { return string(e) }

// atOnce is over how long certificates are renewed whose root nobody trusts any more.
const atOnce = time.Second

var errDry = errors.New("nothing was to be changed")

// Rotation does what people ask of the root of an authority. The error is ErrNoAuthority, an ErrRotation, or
// that of the store.
func (k *CAController) Rotate(ctx context.Context, owner api.Ref, ask Rotation) (out Rotated, err error) {
	made := making{}
	err = k.cfg.Keep(ctx, func(now *snapshot.Snapshot) ([]store.Write, error) {
		a := k.read(now)[owner]
		if a == nil {
			return nil, ErrNoAuthority
		}
		writes, broken, err := k.rotate(a, ask, made)
		if out = (Rotated{a.state, broken}); err == nil && ask.Dry {
			return nil, errDry
		}
		return writes, err
	})
	if ask.Dry && errors.Is(err, errDry) {
		return out, nil
	}
	k.Enqueue()
	return out, err
}

// rotate are the writes of a Rotation, after which a is as they say.
func (k *CAController) rotate(a *authority, ask Rotation, made making) (out []store.Write, broken rotation.Waiting, err error) {
	now := k.cfg.Now()
	switch {
	case !a.stated || !a.signs:
		return nil, broken, ErrRotation("it does not sign yet; try again")
	case ask.Abort:
		err = a.abort(now)
	case a.state.Phase == rotation.Steady && ask.Force && !ask.Now:
		err = ErrRotation("there is no rotation that could be forced; leave --force out to begin one")
	case a.state.Phase == rotation.Steady:
		out, err = k.begin(a, ask, made, now)
	case !ask.Force && !ask.Now:
		err = ErrRotation(fmt.Sprintf("a rotation is in phase %s; wait until it has ended, abort it, or give --force", a.state.Phase))
	}
	if err != nil {
		return nil, broken, err
	}
	if ask.Force || ask.Now {
		a.state, broken = a.state.Force(k.fleet(a.owner), now)
	}
	switch {
	case ask.Spread > 0:
		a.asked.Spread = ask.Spread
	case ask.Now:
		a.asked.Spread = atOnce
	}
	return append(out, k.stored(a)), broken, nil
}

// begin makes a root beside the one that signs, which is to take over from it.
func (k *CAController) begin(a *authority, ask Rotation, made making, now time.Time) ([]store.Write, error) {
	old := a.wanted()
	if !old.own {
		return nil, ErrRotation("its root is yours: add another backend with the new root to the Mesh and enable that, or put the new root where the MeshIdentity names it")
	}
	next := root{name: old.name, at: old.at, own: true, made: true, life: old.life, certificates: old.certificates, cert: old.cert + secondPlace, key: old.key + secondPlace}
	if first, second := trimmed(old.cert), trimmed(old.key); first != old.cert { // that is free
		next.cert, next.key = first, second
	}
	out, err := k.root(a, &next, made)
	if err != nil {
		return nil, err
	}
	if a.state, err = a.state.Begin(next.fingerprint(), now); err != nil {
		return nil, ErrRotation(err.Error())
	}
	a.roots = append(a.roots, next)
	a.asked = asked{Wanted: next.fingerprint(), Spread: ask.Spread}
	return out, nil
}

// abort goes back, where the document agrees.
func (a *authority) abort(now time.Time) error {
	next, err := a.state.Abort(now)
	if err != nil {
		return ErrRotation(err.Error())
	}
	for _, r := range a.of(a.enabled) {
		if r.print() == next.New.Fingerprint {
			a.state, a.asked.Wanted = next, r.print()
			return nil
		}
	}
	return ErrRotation("the rotation follows from the document, which names another root than before; write the former one there again")
}

// Standing is an authority as people see it.
type Standing struct {
	Owner   api.Ref
	Domain  string
	Outside bool   // it signs beside workloads, and not here
	Fault   string // why it cannot sign, or is not believed; empty where nothing is wrong
	Stated  bool
	rotation.State
	Roots   []StandingRoot
	Waiting rotation.Waiting
	// Certificates are how many sidecars have a valid certificate of each root, by its fingerprint.
	Certificates map[string]int
}

// StandingRoot is one root of a Standing.
type StandingRoot struct {
	Name        string // of its backend; empty for that of a MeshIdentity
	Fingerprint string // empty while it is not made, or cannot be read
	Ends        time.Time
	Own         bool     // weft keeps its key
	Left        bool     // its document names it no more, and it is trusted still
	Said        []string // by what documents others believe it, of an authority outside
	Fault       string
}

// Standings are the authorities of a mesh, by their documents.
func (k *CAController) Standings(mesh string) (out []Standing) {
	k.mu.Lock()
	all, known, others, silent := sorted(k.all), k.known[mesh], k.others, k.silent
	waits := map[api.Ref]rotation.Waiting{}
	for _, a := range all {
		if a.stated && a.state.Phase != rotation.Steady {
			waits[a.owner] = k.waits[a.owner]
		}
	}
	k.mu.Unlock()
	now := k.cfg.Now()
	for _, a := range all {
		if a.mesh != mesh {
			continue
		}
		s := Standing{Owner: a.owner, Domain: a.domain, Fault: a.fault, Stated: a.stated, State: a.state, Waiting: waits[a.owner], Certificates: map[string]int{}}
		for i := range a.roots {
			r := &a.roots[i]
			root := StandingRoot{Name: r.name, Fingerprint: r.print(), Own: r.own, Fault: r.fault}
			if r.signer != nil {
				root.Ends = r.signer.Certificate().NotAfter
			}
			s.Roots = append(s.Roots, root)
		}
		s.leave(known)
		k.count(&s, a.owner, now)
		out = append(out, s)
	}
	for _, s := range others {
		if s.Owner.Mesh != mesh {
			continue
		}
		s.Certificates = map[string]int{}
		s.assess(silent, now)
		for _, same := range others { // a root does not tell by which of them somebody has a certificate
			if same.Owner.Mesh == mesh && same.Domain == s.Domain {
				k.count(&s, same.Owner, now)
			}
		}
		out = append(out, s)
	}
	return out
}

// count counts the valid certificates that are known of the authority of a document.
func (k *CAController) count(s *Standing, of api.Ref, now time.Time) {
	if k.cfg.Sidecars == nil {
		return
	}
	for c := range k.cfg.Sidecars(of).Sidecars {
		if c.Root != "" && c.Ends.After(now) {
			s.Certificates[c.Root]++
		}
	}
}

// leave adds the roots that are trusted beside those that the document names.
func (s *Standing) leave(known []known) {
	for _, r := range known {
		print := workload.Fingerprint(r.certificate)
		if r.owner == s.Owner && r.domain == "" && !slices.ContainsFunc(s.Roots, func(o StandingRoot) bool { return o.Fingerprint == print }) {
			s.Roots = append(s.Roots, StandingRoot{Fingerprint: print, Ends: r.certificate.NotAfter, Own: true, Left: true})
		}
	}
}

// Roots are those of the authorities of a mesh.
func (k *CAController) Roots(mesh string) (out []mtls.Root) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range sorted(k.all) {
		if a.mesh != mesh {
			continue
		}
		for i := range a.roots {
			out = append(out, mtls.Root{Of: a.owner, Backend: a.roots[i].name, Fingerprint: a.roots[i].print()})
		}
	}
	return out
}
