package effective

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// InboundTLS is how an inbound takes mutual TLS (spec/identity.md 3.2).
type InboundTLS struct {
	Mode   string      // Strict or Permissive, as Origin says
	Origin *api.Origin // the item of a MeshTLS, or what gives the identity
	// PermissiveGrace says that the mode is Strict, and that plain text is taken until those who send it
	// have learnt better.
	PermissiveGrace bool
	Domains         []string // trust domains in which names are believed, sorted
	policies.TLSParameters
	Life    time.Duration // of certificates
	OverADS bool          // the certificate comes by ADS
}

// ClusterTLS is how proxies that have an identity call a destination (spec/identity.md 3.1).
type ClusterTLS struct {
	SNI     string
	Names   []string // SPIFFE IDs of all who answer, sorted
	Domains []string // theirs, sorted
	Mesh    string
	policies.TLSParameters
}

// TakesPlain reports whether plain text is taken too.
func (t *InboundTLS) TakesPlain() bool { return t == nil || t.Mode != Strict || t.PermissiveGrace }
