package insights

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/mtls"
)

// Backends are the roots of the certificates in a mesh, by their fingerprints, under the names
// that Kuma has for those who sign: the backend of Mesh.mtls, or the KRI of the MeshIdentity.
type Backends map[string]string

// unknownBackend is the name of a root that no authority has any more.
const unknownBackend = "unknown"

// BackendsOf names the roots of a mesh of s.
func BackendsOf(c *api.Catalog, s *snapshot.Snapshot, roots []mtls.Root) Backends {
	out := Backends{}
	for _, r := range roots {
		name := r.Backend
		if o, ok := s.Get(r.Of); ok && r.Of.Kind != api.KindMesh {
			name = c.KRI(c.Shown(o))
		}
		if name != "" && r.Fingerprint != "" {
			out[r.Fingerprint] = name
		}
	}
	return out
}

func (b Backends) of(root string) string { return cmp.Or(b[root], unknownBackend) }

// names are those of all, each once, sorted.
func (b Backends) names() []string { return slices.Compact(slices.Sorted(maps.Values(b))) }

// Certified is what Kuma tells of the certificate of a sidecar.
type Certified struct {
	Expires   time.Time  `json:"certificateExpirationTime"`
	Last      *time.Time `json:"lastCertificateRegeneration,omitempty"` // not known of one from before a restart
	Count     int        `json:"certificateRegenerations"`
	Issued    string     `json:"issuedBackend"`
	Supported []string   `json:"supportedBackends"` // that are trusted
}

// Certified tells of the certificate of a sidecar; nil where it has none.
func (b Backends) Certified(s mtls.Observed) *Certified {
	c := s.Certificate
	if c == nil {
		return nil
	}
	return &Certified{Expires: c.Expires, Last: c.Issued, Count: s.Certificates, Issued: b.of(c.Root), Supported: append([]string{}, b.names()...)}
}

// BackendCounts are dataplanes by who has signed their certificates, and by who is trusted where
// there is a certificate.
type BackendCounts struct {
	Issued    map[string]Counts `json:"issuedBackends,omitempty"`
	Supported map[string]Counts `json:"supportedBackends,omitempty"`
}

// Name gives those who signed their names in insights that name roots by their fingerprints.
func (b Backends) Name(mesh *MeshInsight, services []ServiceInsight) {
	named, all := BackendCounts{Issued: map[string]Counts{}, Supported: map[string]Counts{}}, Counts{}
	for root, n := range mesh.MTLS.Issued {
		named.Issued[b.of(root)] = named.Issued[b.of(root)].plus(n)
		all = all.plus(n)
	}
	if all.Total > 0 {
		for _, name := range b.names() {
			named.Supported[name] = all
		}
	}
	mesh.MTLS = named
	for i := range services {
		byRoot := services[i].Issued
		services[i].Issued = map[string]int{}
		for root, n := range byRoot {
			services[i].Issued[b.of(root)] += n
		}
	}
}

func (c Counts) plus(n Counts) Counts {
	return Counts{c.Total + n.Total, c.Online + n.Online, c.Offline + n.Offline, c.PartiallyDegraded + n.PartiallyDegraded}
}
