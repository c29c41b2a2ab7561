// Package authorization is what policies about who may call come to, at inbounds and at routes.
package authorization

import (
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/tables"
)

// Stage is what policies about who may call come to, at inbounds and at routes.
type Stage struct {
	below            tables.Mesh
	nobody           []*policies.Effective // by kind: of those that authorize, what lets nobody in
	PolicyRoutes     *derive.Collection[PolicyRoutes]
	byRoute          *derive.Index[PolicyRoutes]
	RoutePolicies    *derive.Collection[RoutePolicies]
	byDestination    *derive.Group[RoutePolicies]
	Frontends        *derive.Collection[DestinationRules]
	Placements       *derive.Collection[InboundPlacements]
	byDataplane      *derive.Index[InboundPlacements]
	byService        *derive.Index[InboundPlacements]
	dataplaneRules   *derive.Collection[dataplaneRules]
	collectedAtRules *derive.Collection[Collected]

	OwnDomains *derive.Collection[string] // in which workloads of the mesh have names
	// Who has a name that is not made of tags.
	securedByName *derive.Index[identity.DataplaneTLS]
	namesakes     *derive.Collection[namesakes]
	collected     *derive.Collection[Collected]
}

// Mesh is one mesh at this stage.
type Mesh struct {
	tables.Mesh
	*Stage
}

// Mesh is one mesh at this stage, read by at.
func (s *Stage) Mesh(at derive.At) Mesh {
	return Mesh{s.below.Stage.Mesh(at), s}
}

// New adds this stage above the one that it reads.
func New(below tables.Mesh) Mesh {
	s := &Stage{below: below, nobody: make([]*policies.Effective, len(below.Kinds))}
	for i, k := range below.Kinds {
		if k.Authorizer != nil {
			s.nobody[i] = k.Nobody()
		}
	}
	s.addCollected()
	s.addRouteAuthorization()
	return s.Mesh(nil)
}
