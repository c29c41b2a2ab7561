// Package hostnames is the names that HostnameGenerators make of services, and virtual addresses.
package hostnames

import (
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/vips"
)

// Stage is the names that generators make of services, by ObjectKey of the service, and
// who is given which virtual address: by ObjectKey, and by block of addresses.
type Stage struct {
	below              identity.Mesh
	generators         *derive.Collection[Generator]
	Namings            *derive.Collection[naming]
	namingsByName      *derive.Index[naming]
	NamingsByGenerator *derive.Index[naming]
	servicesByVIP      *derive.Index[index.Service]
	VIPRequests        *derive.Collection[vips.AddressRequest]
	vipsGiven          Rounds
	// The same of classic services, by id.
	classicRequests *derive.Collection[vips.AddressRequest]
	classicGiven    Rounds
}

// Mesh is one mesh at this stage.
type Mesh struct {
	identity.Mesh
	*Stage
}

// Mesh is one mesh at this stage, read by at.
func (s *Stage) Mesh(at derive.At) Mesh {
	return Mesh{s.below.Stage.Mesh(at), s}
}

// New adds this stage above the one that it reads.
func New(below identity.Mesh) Mesh {
	s := &Stage{below: below}
	s.addGenerators()
	s.addVIPs()
	return s.Mesh(nil)
}
