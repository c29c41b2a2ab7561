// Package trafficpermission is the policy MeshTrafficPermission: who may call whom
// (spec/identity.md 1.5).
//
// It promises that a match says something, and that no match holds of fewer requests, or of
// more, than it reads as.
package trafficpermission

import (
	_ "embed"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

//go:embed example.yaml
var example string

var schema = policies.SchemaOf[Conf]()

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:          "MeshTrafficPermission",
	Plural:        "meshtrafficpermissions",
	Short:         "mtp",
	Title:         "Says who may call a workload",
	New:           func() policies.Conf { return new(Conf) },
	Schema:        schema,
	From:          true,
	Rules:         true,
	Both:          true,
	Inbound:       true,
	Collect:       collect,
	All:           jointly,
	NoMatches:     true,
	RulesOnRoutes: true,
	AtConnections: atConnections,
	AsksPlain:     func(e *policies.Effective) bool { p := Of(e); return p != nil && p.Anonymous },
	Tops:          []string{api.KindMesh, api.KindDataplane, api.KindMeshSubset, api.KindMeshService, api.KindMeshServiceSubset},
	Froms:         []string{api.KindMesh, api.KindMeshSubset, api.KindMeshService, api.KindMeshServiceSubset},
	Names:         names,
	Void:          void,
	Revokes:       taken,
	Whole:         whole,
	Warns:         readsPaths,
	Closed:        shutsOut,
	OnlyDenies:    OnlyDenies,
	Docs:          docs,
	Example:       example,
}
