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
	Name:            "MeshTrafficPermission",
	Plural:          "meshtrafficpermissions",
	Short:           "mtp",
	Title:           "Says who may call a workload",
	New:             func() policies.Conf { return new(Conf) },
	Schema:          schema,
	From:            true,
	Rules:           true,
	FromBesideRules: true,
	Inbound:         true,
	Authorizer:      authorizer{},
	NoMatches:       true,
	RulesOnRoutes:   true,
	TopKinds:        []string{api.KindMesh, api.KindDataplane, api.KindMeshSubset, api.KindMeshService, api.KindMeshServiceSubset},
	FromKinds:       []string{api.KindMesh, api.KindMeshSubset, api.KindMeshService, api.KindMeshServiceSubset},
	Check:           whole,
	Warns:           readsPaths,
	Explains:        map[policies.EndWords][]string{policies.EndPermission: {"allow", "deny", "allowWithShadowDeny", "action"}},
	Docs:            docs,
	Example:         example,
}

// authorizer decides who may come in, by documents of the kind.
type authorizer struct{}

// OpenByDefault is false: a workload that no document is about takes nobody's calls.
func (authorizer) OpenByDefault() bool { return false }

// AsksPlaintext reports whether callers are judged too that prove no name.
func (authorizer) AsksPlaintext(e *policies.Effective) bool {
	p := Of(e)
	return p != nil && p.Anonymous
}
