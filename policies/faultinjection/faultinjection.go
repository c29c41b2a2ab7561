// Package faultinjection is the policy MeshFaultInjection: requests that fail, wait or are answered slowly on purpose
// (spec/kinds.md 4).
//
// It promises that a fault comes and goes by routes alone as long as there are few of them, that faults act behind all
// that refuses requests, and that who calls is told by what a certificate proves, never by a header.
package faultinjection

import (
	_ "embed"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

//go:embed example.yaml
var example string

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:      "MeshFaultInjection",
	Plural:    "meshfaultinjections",
	Short:     "mfi",
	Title:     "Makes requests fail, wait or come back slowly on purpose",
	New:       func() policies.Conf { return new(Conf) },
	Schema:    policies.SchemaOf[Conf](),
	From:      true,
	Rules:     true,
	FromKinds: []string{api.KindMesh, api.KindMeshSubset, api.KindMeshService, api.KindMeshServiceSubset},
	Applies:   acts,
	Explains:  map[policies.EndWords][]string{policies.EndFault: {field}, policies.EndDelay: {field}},
	Docs:      docs,
	Example:   example,
}

// field is the one leaf.
const field = "http"

// acts: connections have neither requests nor answers.
func acts(_ string, p api.Protocol) bool { return p.HTTPLike() }
