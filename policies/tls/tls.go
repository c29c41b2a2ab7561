// Package tls is the policy MeshTLS: how inbounds take mutual TLS (spec/identity.md 1.4).
//
// It promises that a version or a cipher is set for both ends or for none, and that no
// version is taken which is known to be broken.
package tls

import (
	_ "embed"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

//go:embed example.yaml
var example string

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:              "MeshTLS",
	Plural:            "meshtlses",
	Short:             "mtls",
	Title:             "Says how inbounds take mutual TLS",
	New:               func() policies.Conf { return new(Conf) },
	Schema:            policies.SchemaOf[Conf](),
	From:              true,
	Rules:             true,
	Inbound:           true,
	NoMatches:         true,
	TransportSecurity: transportSecurity{},
	TopKinds:          []string{api.KindMesh, api.KindDataplane, api.KindMeshSubset},
	Check:             whole,
	Docs:              docs,
	Example:           example,
}
