package authorities

import (
	"cmp"
	"crypto/x509"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// outside is an authority that is not weft's: no root of it is made, kept or replaced here. Whom
// others are to believe because of it follows from its roots, or is said by people.
type outside struct {
	owner  api.Ref // the MeshIdentity
	domain string
	roots  []*x509.Certificate // that it has told of; none where it has not
	fault  string              // why its domain is not known; empty where it is
}

// outsiders are the authorities outside of all MeshIdentities, in order.
func (k *CAController) outsiders(s *snapshot.Snapshot) (out []outside) {
	k.mu.Lock()
	bundles := k.bundles
	k.mu.Unlock()
	for o := range s.OfKind(api.KindMeshIdentity) {
		m, ok := o.Spec.(*api.MeshIdentity)
		if !ok || !m.IsSpire() {
			continue
		}
		x := outside{owner: o.Ref}
		if domain, err := (reader{s, &k.cfg}).domain(o, m); err == nil {
			x.domain, x.roots = domain, bundles[domain]
		} else {
			x.fault = noDomain(err)
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b outside) int { return a.owner.Compare(b.owner) })
	return out
}

// Bundles tells the keeper the roots of trust domains, as the control plane's own SPIRE says them, or
// why that says nothing newer.
func (k *CAController) Bundles(of map[string][]*x509.Certificate, why error) {
	k.mu.Lock()
	if k.silent = ""; why != nil {
		k.silent = why.Error()
	} else {
		k.bundles = maps.Clone(of)
	}
	k.mu.Unlock()
	k.Enqueue()
}

// trustOutside is the MeshTrust of an authority outside where that is to be another one. What was
// published stays while nothing newer is known.
func (k *CAController) trustOutside(now *snapshot.Snapshot, x outside) *store.Write {
	ref := x.published(k.cfg.Namespace)
	there, exists := now.Get(ref)
	if exists && !api.MadeByWeft(there) || len(x.roots) == 0 {
		return nil
	}
	texts := make([]string, 0, len(x.roots))
	for _, c := range x.roots {
		texts = append(texts, string(workload.CertificateChain{c}.PEM()))
	}
	return publish(ref, there, x.domain, texts, 0)
}

// publish is a MeshTrust of roots in PEM, nil where it is there already.
func publish(ref api.Ref, there *api.Object, domain string, roots []string, generation uint64) *store.Write {
	slices.Sort(roots)
	spec := &api.MeshTrust{TrustDomain: domain}
	for _, text := range slices.Compact(roots) {
		spec.CABundles = append(spec.CABundles, api.CABundle{Type: "Pem", PEM: &api.PEMBundle{Value: text}})
	}
	labels := map[string]string{api.LabelMadeBy: api.MadeByAuthority, api.LabelTrust: strconv.FormatUint(generation, 10)}
	if there != nil && reflect.DeepEqual(there.Spec, spec) && there.Labels[api.LabelTrust] == labels[api.LabelTrust] { // of its labels a cluster has more
		return nil
	}
	return &store.Write{Put: &api.Object{Ref: ref, Labels: labels, Spec: spec}, Own: true}
}

// published is the name of the MeshTrust that weft makes of it.
func (x outside) published(namespace string) api.Ref {
	return api.Ref{Kind: api.KindMeshTrust, Mesh: x.owner.Mesh, Namespace: namespace, Name: api.TrustName(x.owner)}
}

// believed are the roots that documents say for the domain of an authority outside. They speak
// for that domain and no other (F1).
func (x outside) believed(s *snapshot.Snapshot) (out []known) {
	for _, c := range Believed(s, x.owner.Mesh, x.domain) {
		out = append(out, known{x.owner, c, x.domain})
	}
	return out
}

// Believed are the roots that the MeshTrusts of a mesh have for a trust domain.
func Believed(s *snapshot.Snapshot, mesh, domain string) (out []*x509.Certificate) {
	for _, t := range trustsOf(s, mesh, domain) {
		out = append(out, t.Roots()...)
	}
	return out
}

// trustsOf are the MeshTrusts of a mesh for a trust domain.
func trustsOf(s *snapshot.Snapshot, mesh, domain string) iter.Seq2[*api.Object, *api.MeshTrust] {
	return func(yield func(*api.Object, *api.MeshTrust) bool) {
		for o := range s.Of(api.KindMeshTrust, mesh) {
			if t, ok := o.Spec.(*api.MeshTrust); ok && t.TrustDomain == domain && !yield(o, t) {
				return
			}
		}
	}
}

// byWorkloadAPI is who says that a root is to be believed of which nobody has written a MeshTrust.
const byWorkloadAPI = "the Workload API of the control plane"

// standOutside are the authorities outside as a snapshot has them: each root with the documents by
// which it is believed.
func (k *CAController) standOutside(s *snapshot.Snapshot) (out []Standing) {
	for _, x := range k.outsiders(s) {
		st := Standing{Owner: x.owner, Domain: x.domain, Outside: true, Fault: x.fault}
		for o, t := range trustsOf(s, x.owner.Mesh, x.domain) {
			said := o.Ref.String()
			if api.MadeByWeft(o) {
				said = byWorkloadAPI
			}
			for _, c := range t.Roots() {
				st.believe(StandingRoot{Fingerprint: workload.Fingerprint(c), Ends: c.NotAfter, Said: []string{said}})
			}
		}
		slices.SortFunc(st.Roots, func(a, b StandingRoot) int {
			return cmp.Or(a.Ends.Compare(b.Ends), cmp.Compare(a.Fingerprint, b.Fingerprint))
		})
		out = append(out, st)
	}
	return out
}

// believe adds a root, or who else says that it is to be believed.
func (s *Standing) believe(r StandingRoot) {
	at := slices.IndexFunc(s.Roots, func(have StandingRoot) bool { return have.Fingerprint == r.Fingerprint })
	if at < 0 {
		s.Roots = append(s.Roots, r)
		return
	}
	if have := &s.Roots[at]; !slices.Contains(have.Said, r.Said[0]) {
		have.Said = append(have.Said, r.Said[0])
		slices.Sort(have.Said)
	}
}

// assess says what is wrong with whom others believe.
func (s *Standing) assess(silent string, now time.Time) {
	s.Roots = slices.Clone(s.Roots)
	ended := 0
	for i := range s.Roots {
		if r := &s.Roots[i]; !now.Before(r.Ends) {
			ended++
			r.Fault = "it has ended, so that nobody is believed by it"
		}
	}
	switch {
	case s.Fault != "":
	case ended == len(s.Roots):
		s.Fault = "no MeshTrust has the trust domain " + s.Domain + "; apply a MeshTrust of that trust domain with the bundle of its SPIRE, or give the control plane a Workload API by SPIFFE_ENDPOINT_SOCKET"
	case silent != "":
		s.Fault = "its roots are those of before, for nothing newer is known: " + silent
	}
}
