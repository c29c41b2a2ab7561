// Package dataplanes is all that applies to each dataplane: the last stage of a resolved mesh.
package dataplanes

import (
	"github.com/weftmesh/weft/resolve/authorization"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
)

// Stage is what each dataplane holds by all that.
type Stage struct {
	below       authorization.Mesh
	ClusterRefs *derive.Collection[ClusterRefs]
	ByCluster   *derive.Group[ClusterRefs]
	// ByConnections are the clusters of byCluster by those that send connections alone to them.
	ByConnections *derive.Group[ClusterRefs]
	clusters      *derive.Collection[Cluster]
	endpoints     *derive.Collection[Endpoints]
	trusts        *derive.Collection[cachedTrust]
	Inbounds      *derive.Collection[Inbounds]
	InboundsIn    *derive.Index[Inbounds] // where the mesh proves who calls: see Inbound.is
	Outbounds     *derive.Collection[Outbounds]
	clustersOf    *derive.Collection[clusters]
	Resolved      *derive.Collection[effective.Resolved]
}

// Mesh is one mesh at this stage.
type Mesh struct {
	authorization.Mesh
	*Stage
}

// Mesh is one mesh at this stage, read by at.
func (s *Stage) Mesh(at derive.At) Mesh {
	return Mesh{s.below.Stage.Mesh(at), s}
}

// New adds this stage above the one that it reads.
func New(below authorization.Mesh) Mesh {
	s := &Stage{below: below}
	s.addHoldings()
	return s.Mesh(nil)
}
