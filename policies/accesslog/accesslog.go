// Package accesslog is the policy MeshAccessLog: where a line is written of each request and each
// connection (spec/kinds.md 7).
//
// It promises that a format which Envoy would refuse is refused before it is stored, that no backend
// costs a listener, and that which routes log to a backend changes by routes alone: only a backend that
// no other route and nothing else of the listener names changes the listener.
package accesslog

import (
	_ "embed"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

//go:embed example.yaml
var example string

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:        "MeshAccessLog",
	Plural:      "meshaccesslogs",
	Short:       "mal",
	Title:       "Writes a line of each request and connection",
	New:         func() policies.Conf { return new(Conf) },
	Schema:      policies.SchemaOf[Conf](),
	From:        true,
	Rules:       true,
	RulesAddUp:  true,
	Scoped:      scoped,
	ByProducers: byProducers,
	Docs:        docs,
	Example:     example,
}

// scoped: where nobody tells requests apart the listener writes the lines.
func scoped(_ string, scope policies.Scope, p api.Protocol) policies.Scope {
	if !p.HTTPLike() {
		return policies.OnListener
	}
	return scope
}
