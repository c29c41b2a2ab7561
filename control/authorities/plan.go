package authorities

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// making are the roots that were made for writes which may have to be planned again.
type making map[string]*workload.Signer

// plan are the writes that are missing: first roots, their keys before them, so that a
// certificate says that both are there; then where a rotation stands; then what all are to
// trust.
func (k *CAController) plan(now *snapshot.Snapshot, made making) []store.Write {
	var out []store.Write
	owners := k.read(now)
	for _, a := range sorted(owners) {
		for i := range a.roots {
			writes, err := k.root(a, &a.roots[i], made)
			if err != nil {
				a.fault = err.Error()
				continue
			}
			out = append(out, writes...)
		}
		if w := k.advance(now, a); w != nil {
			out = append(out, *w)
		}
		if w := k.trust(now, a); w != nil {
			out = append(out, *w)
		}
		out = append(out, k.replaced(a, now)...)
	}
	outside := k.outsiders(now)
	for _, x := range outside {
		if w := k.trustOutside(now, x); w != nil {
			out = append(out, *w)
		}
	}
	return append(out, k.orphans(now, owners, outside)...)
}

func sorted(all map[api.Ref]*authority) []*authority {
	out := make([]*authority, 0, len(all))
	for _, a := range all {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *authority) int { return a.owner.Compare(b.owner) })
	return out
}

// root makes a root that is missing, for an authority that signs.
func (k *CAController) root(a *authority, r *root, made making) ([]store.Write, error) {
	if !r.made || !a.signs {
		return nil, nil
	}
	id := a.mesh + "/" + r.cert
	if made[id] == nil {
		s, err := workload.NewRoot(a.domain, a.owner.Kind == api.KindMeshIdentity, r.life, k.cfg.Now())
		if err != nil {
			return nil, err
		}
		made[id] = s
	}
	r.signer = made[id]
	cert, key, err := r.signer.PEM()
	if err != nil {
		return nil, err
	}
	r.text = cert
	return []store.Write{k.secret(a, r.key, key), k.secret(a, r.cert, cert)}, nil
}

func (k *CAController) secret(a *authority, name string, value []byte) store.Write {
	o := api.NewMeshSecret(a.mesh, k.cfg.Namespace, name, value)
	o.Labels = map[string]string{api.LabelMadeBy: api.MadeByAuthority}
	return store.Write{Put: o, Own: true}
}

// advance is the next state of an authority, nil where it stays.
func (k *CAController) advance(now *snapshot.Snapshot, a *authority) *store.Write {
	at := k.cfg.Now()
	before, next := a.state, a.state
	was := k.published(now, a)
	if a.signs && a.fault == "" && a.wanted().signer != nil {
		switch print := a.wanted().fingerprint(); {
		case !a.stated || was.generation > a.state.Trust:
			next = k.start(a, print, was)
		case next.Phase == rotation.Steady && next.Signer() != print:
			next, _ = next.Begin(print, at)
		case next.Phase != rotation.Steady && next.New.Fingerprint != print:
			if back, err := next.Abort(at); err == nil && next.Old.Fingerprint == print {
				next = back
			}
		}
	}
	if !a.stated && next.Phase == "" {
		return nil
	}
	if next == before && next.Phase != rotation.Steady && k.cfg.Sidecars != nil {
		var wait rotation.Waiting
		next, wait = next.Step(k.fleet(a.owner), at)
		k.mu.Lock()
		k.waits[a.owner] = wait
		k.mu.Unlock()
	}
	if more := reserve(next, at, a.certificateLife(next)); a.signs && more != next && joined(now, a.mesh) {
		next = more
	}
	if next == before {
		return nil
	}
	if a.state, a.stated = next, true; next.Phase == rotation.Steady {
		a.asked = asked{}
	}
	w := k.stored(a)
	return &w
}

// trust is the MeshTrust of an authority where that is to be another one: every root of its
// document, and those that a rotation still trusts.
func (k *CAController) trust(now *snapshot.Snapshot, a *authority) *store.Write {
	if a.trust == "" || a.domain == "" || !a.stated {
		return nil
	}
	ref := api.Ref{Kind: api.KindMeshTrust, Mesh: a.mesh, Namespace: k.cfg.Namespace, Name: a.trust}
	there, exists := now.Get(ref)
	if exists && !api.MadeByWeft(there) {
		return nil // it is somebody's, who decides whom to trust
	}
	if !a.signs && !a.state.LastEnd().After(k.cfg.Now()) {
		if exists {
			return &store.Write{Delete: &ref, Own: true}
		}
		return nil
	}
	roots := a.trusted(there)
	if len(roots) == 0 {
		return nil
	}
	return publish(ref, there, a.domain, roots, a.state.Trust)
}

// trusted are the certificates to trust, in PEM. One that a rotation has not done with
// stays, also where its document has lost it.
func (a *authority) trusted(there *api.Object) []string {
	texts := map[string]string{}
	if there != nil {
		if before, ok := there.Spec.(*api.MeshTrust); ok {
			for _, b := range before.CABundles {
				for _, c := range (&api.MeshTrust{CABundles: []api.CABundle{b}}).Roots() {
					if print := workload.Fingerprint(c); slices.Contains(a.state.Trusted(), print) {
						texts[print] = b.PEM.Value
					}
				}
			}
		}
	}
	for i := range a.roots {
		if r := &a.roots[i]; a.shared(r) {
			texts[r.fingerprint()] = string(r.text)
		}
	}
	out := make([]string, 0, len(texts))
	for _, t := range texts {
		out = append(out, strings.TrimSpace(t)+"\n")
	}
	return out
}

// Uses is the document whose authority needs a Secret.
func (k *CAController) Uses(now *snapshot.Snapshot, secret api.Ref) (owner api.Ref, used bool) {
	for _, a := range sorted(k.read(now)) {
		if a.mesh == secret.Mesh && slices.Contains(a.needs(), secret.Name) {
			return a.owner, true
		}
	}
	return api.Ref{}, false
}

// needs are the names of the Secrets of an authority.
func (a *authority) needs() []string {
	names := []string{a.secrets}
	for i := range a.roots {
		names = append(names, a.roots[i].cert, a.roots[i].key)
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// kept is what the Secret with the state of an authority holds.
type kept struct {
	rotation.State
	asked
}

// asked is what people asked of the rotation that runs; it ends with that.
type asked struct {
	// Wanted is the fingerprint of the root that is to sign, of the two of its backend.
	Wanted string `json:"wanted,omitempty"`
	// Spread is over how many nanoseconds certificates are renewed; 0 where the configuration says.
	Spread time.Duration `json:"spread,omitempty"`
}

// parseKept reads what stored wrote, and refuses what it does not know.
func parseKept(text []byte) (kept, error) {
	var out kept
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return kept{}, fmt.Errorf("read the state of a rotation: %w", err)
	}
	if d.More() {
		return kept{}, errors.New("read the state of a rotation: there is more than one")
	}
	return out, out.Check()
}

// stored writes the state of an authority.
func (k *CAController) stored(a *authority) store.Write {
	text, err := json.Marshal(kept{a.state, a.asked})
	if err != nil {
		panic(err) // times and texts always marshal
	}
	return k.secret(a, a.secrets, text)
}

// spread is over how long certificates of an authority are renewed.
func (a *authority) spread(usual time.Duration) time.Duration {
	if a.asked.Spread > 0 {
		return a.asked.Spread
	}
	return usual
}

// askAgain is after how long a sidecar is asked again that has not renewed.
const askAgain = 30 * time.Second

// renew asks those sidecars for whom it is time that hold a certificate of a root which goes.
func (k *CAController) renew() {
	if k.cfg.Certify == nil || k.cfg.Sidecars == nil {
		return
	}
	now := k.cfg.Now()
	k.mu.Lock()
	var moving []*authority
	for _, a := range k.all {
		if a.stated && a.state.Signer() != a.state.Old.Fingerprint {
			moving = append(moving, a)
		}
	}
	if len(moving) == 0 {
		clear(k.asked)
	}
	k.mu.Unlock()
	for _, a := range moving {
		for c := range k.cfg.Sidecars(a.owner).Sidecars {
			at, ok := a.state.RenewAt(c, a.spread(k.cfg.Spread))
			id := a.owner.String() + " " + c.Name
			if !ok || !c.Connected || at.After(now) || now.Sub(k.asked[id]).Abs() < askAgain {
				continue
			}
			k.asked[id] = now
			k.cfg.Certify(api.Ref{Kind: api.KindDataplane, Mesh: a.mesh, Name: c.Name})
		}
	}
}
