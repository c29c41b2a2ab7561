package authorities

import (
	"crypto/x509"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// ProvenCertificate is what is proved of the certificate of a sidecar.
type ProvenCertificate struct {
	Owner        api.Ref // the document whose authority has signed it
	Root         string  // the fingerprint of the root above it
	Names        []string
	Issued, Ends time.Time
}

// ProvenCertificate is what a certificate says that a sidecar shows, by its node id: not its word counts, but
// what an authority of its mesh has signed for the key that the proof was made by.
func (k *CAController) Held(mesh, node string, chain [][]byte, proof []byte) (ProvenCertificate, error) {
	k.mu.Lock()
	known := k.known[mesh]
	k.mu.Unlock()
	domain := domainOf(chain)
	roots := make([]*x509.Certificate, 0, len(known))
	for _, r := range known {
		if r.domain == "" || r.domain == domain {
			roots = append(roots, r.certificate)
		}
	}
	leaf, root, err := workload.VerifyProof(chain, node, proof, roots, k.cfg.Now())
	if err != nil {
		return ProvenCertificate{}, err
	}
	out := ProvenCertificate{Root: workload.Fingerprint(root), Issued: leaf.NotBefore.Add(workload.Leeway), Ends: leaf.NotAfter}
	for _, u := range leaf.URIs {
		out.Names = append(out.Names, u.String())
	}
	out.Owner, _ = k.Of(mesh, out.Root)
	return out, nil
}

// Of is the document whose authority has a root; false where no authority of the mesh has it.
func (k *CAController) Of(mesh, root string) (api.Ref, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.known[mesh] {
		if workload.Fingerprint(r.certificate) == root {
			return r.owner, true
		}
	}
	return api.Ref{}, false
}

// domainOf is the trust domain of the one name that a certificate has; empty where it has several,
// for which no authority outside speaks.
func domainOf(chain [][]byte) string {
	if len(chain) == 0 {
		return ""
	}
	leaf, err := x509.ParseCertificate(chain[0])
	if err != nil || len(leaf.URIs) != 1 || leaf.URIs[0].Scheme+"://" != spiffe.Scheme {
		return ""
	}
	return leaf.URIs[0].Host
}

// known is a root of an authority.
type known struct {
	owner       api.Ref
	certificate *x509.Certificate
	domain      string // of an authority outside, which speaks for that alone; empty of weft's
}

// knownRoots are all roots of the authorities of each mesh: those of their documents, and those
// that are only trusted any more.
func (k *CAController) knownRoots(s *snapshot.Snapshot, all map[api.Ref]*authority) map[string][]known {
	out := map[string][]known{}
	for _, a := range sorted(all) {
		add := func(c *x509.Certificate) { out[a.mesh] = append(out[a.mesh], known{a.owner, c, ""}) }
		for i := range a.roots {
			if signer := a.roots[i].signer; signer != nil {
				add(signer.Certificate())
			}
		}
		if _, trust := k.made(s, a); trust != nil {
			for _, c := range trust.Roots() {
				add(c)
			}
		}
	}
	for _, x := range k.outsiders(s) {
		out[x.owner.Mesh] = append(out[x.owner.Mesh], x.believed(s)...)
	}
	return out
}
