package authorities

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// secondPlace is what the names of Secrets end with that hold the other root of a backend, whose name
// has no dot: a root
// that weft has made is replaced by one beside it, and each rotation takes the place that is free.
const secondPlace = ".2"

// places are the roots that weft keeps for one backend: one, or two while one replaces the other;
// where there is none yet, the one that is to be made.
func (r reader) places(mesh string, first root) (out []root) {
	second := first
	second.cert, second.key = first.cert+secondPlace, first.key+secondPlace
	for _, at := range []root{first, second} {
		if r.load(mesh, &at) {
			out = append(out, at)
		}
	}
	if len(out) == 0 {
		first.made = true
		out = append(out, first)
	}
	return out
}

// load reads a root that weft has made, or a Kuma before it (case 6); false where there is none.
func (r reader) load(mesh string, into *root) bool {
	cert, certified := snapshot.MeshSecretIn(r.Snapshot, mesh, into.cert, r.cfg.System)
	if !certified { // the certificate is stored last
		return false
	}
	key, keyed := snapshot.MeshSecretIn(r.Snapshot, mesh, into.key, r.cfg.System)
	if !keyed {
		into.text = cert
		into.fault = fmt.Sprintf("the Secret %s with its key is gone; restore it, or delete the Secret %s too to have another root made, which nobody trusts yet", into.key, into.cert)
		return true
	}
	into.parse(cert, key, r.cfg.Now())
	return true
}

// print is the fingerprint of a root; empty where there is none yet, or it cannot be read.
func (r *root) print() string {
	if r.signer != nil {
		return r.fingerprint()
	}
	if block, _ := pem.Decode(r.text); block != nil {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			return workload.Fingerprint(c)
		}
	}
	return ""
}

// of are the roots of a backend, by their places.
func (a *authority) of(name string) (out []*root) {
	for i := range a.roots {
		if a.roots[i].name == name {
			out = append(out, &a.roots[i])
		}
	}
	return out
}

// wanted is the root that is to sign: of the two of a backend the one that people asked for, else
// the one that signs.
func (a *authority) wanted() *root {
	all := a.of(a.enabled)
	for _, print := range []string{a.asked.Wanted, a.state.Signer()} {
		if i := slices.IndexFunc(all, func(r *root) bool { return print != "" && r.print() == print }); i >= 0 {
			return all[i]
		}
	}
	return all[0]
}

// certificateLife is how long certificates live by the root that signs, as its own backend says, by that which
// is to sign where it is in the document no more; 0 where nothing is to be signed.
func (a *authority) certificateLife(s rotation.State) time.Duration {
	if !a.signs {
		return 0
	}
	for i := range a.roots {
		if r := &a.roots[i]; r.print() == s.Signer() {
			return r.certificates
		}
	}
	return a.wanted().certificates
}

// reserve records in a state that from now on certificates of a life are made, and for a quarter of it
// longer, so that it is stored no more often than that.
func reserve(s rotation.State, now time.Time, life time.Duration) rotation.State {
	s, _ = s.Reserve(now.Add(life), life/4)
	return s
}

// longestLife is that of the certificates of any root.
func (a *authority) longestLife() (longest time.Duration) {
	for i := range a.roots {
		longest = max(longest, a.roots[i].certificates)
	}
	return longest
}

// shared reports whether a root is to be trusted for its document's sake. Of two roots of one
// backend those are that the rotation says.
func (a *authority) shared(r *root) bool {
	all := a.of(r.name)
	if r.signer == nil || len(all) == 1 {
		return r.signer != nil
	}
	trusted := a.state.Trusted()
	if slices.ContainsFunc(all, func(r *root) bool { return slices.Contains(trusted, r.print()) }) {
		return slices.Contains(trusted, r.print())
	}
	return r == all[0]
}

// replaced deletes the root that another one has taken the place of.
func (k *CAController) replaced(a *authority, now *snapshot.Snapshot) (out []store.Write) {
	if !a.stated || a.state.Phase != rotation.Steady {
		return nil
	}
	all := a.of(a.enabled)
	if len(all) < 2 || !all[0].own || !slices.ContainsFunc(all, func(r *root) bool { return r.print() == a.state.Signer() }) {
		return nil
	}
	for _, r := range all {
		if r.print() == a.state.Signer() {
			continue
		}
		for _, name := range []string{r.cert, r.key} {
			if ref, ok := snapshot.MeshSecretRef(now, a.mesh, name, k.cfg.System); ok {
				out = append(out, store.Write{Delete: &ref, Own: true})
			}
		}
	}
	return out
}

// trimmed is the name of a Secret at the first place.
func trimmed(name string) string { return strings.TrimSuffix(name, secondPlace) }

// late reports whether a root is in the last fifth of its life (spec/identity.md 2.2).
func (r *root) late(now time.Time) bool {
	if r.signer == nil {
		return false
	}
	c := r.signer.Certificate()
	return now.After(workload.WarnAt(c.NotBefore, c.NotAfter))
}
