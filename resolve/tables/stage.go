// Package tables is what a class of dataplanes has of a destination: the table of its routes, the
// policies of each rule, and the clusters that those name.
package tables

import (
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/reachability"
	"github.com/weftmesh/weft/resolve/routing"
)

// Stage is what a class of dataplanes has of a destination, by class key.
type Stage struct {
	below               reachability.Mesh
	Classes             *derive.Collection[Class]
	composed            *derive.Collection[routing.Composition]
	DestinationPolicies *derive.Collection[DestinationPolicies]
	Tables              *derive.Collection[ClassTable]
	ClusterNames        *derive.Collection[ClusterNames]
	GroupOutbounds      *derive.Collection[groupOutbounds]
	GroupClusterNames   *derive.Collection[ClusterNames]
}

// Mesh is one mesh at this stage.
type Mesh struct {
	reachability.Mesh
	*Stage
}

// Mesh is one mesh at this stage, read by at.
func (s *Stage) Mesh(at derive.At) Mesh {
	return Mesh{s.below.Stage.Mesh(at), s}
}

// New adds this stage above the one that it reads.
func New(below reachability.Mesh) Mesh {
	s := &Stage{below: below}
	s.addClasses()
	s.addTables()
	return s.Mesh(nil)
}
