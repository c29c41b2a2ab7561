package effective

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// Identity is who a dataplane is to others (spec/identity.md 1.2, 2.5).
type Identity struct {
	// Names are those of its certificate, URIs, and the first one is a SPIFFE ID; none where
	// Problem says why.
	Names   []string
	Problem string
	// Origin is the MeshIdentity, or the backend of the Mesh that signs.
	Origin *api.Origin
	Life   time.Duration // of the certificate
	Mode   string        // of inbounds of which no MeshTLS says one: Strict or Permissive
	// Leaves says that the documents give it no identity any more, and that its inbounds take both
	// plain text and TLS until nobody calls them by TLS (api.MeshInsight).
	Leaves bool `json:",omitempty"`
}

// The modes in which inbounds take mutual TLS.
const (
	Strict     = "Strict"
	Permissive = "Permissive"
)

// Hash is by the names that are proved, or by why there are none.
func (i *Identity) Hash() uint64 {
	return derive.Mix(derive.Mix(derive.HashBasis, i.Names...), i.Problem)
}
