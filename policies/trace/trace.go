// Package trace is the policy MeshTrace: where spans go, how many requests are traced, and what each
// span says (spec/kinds.md 9).
//
// It promises that a tracer alone is part of a listener: sampling and tags stand at routes, where they
// change while connections last.
package trace

import (
	_ "embed"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

//go:embed example.yaml
var example string

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:           "MeshTrace",
	Plural:         "meshtraces",
	Short:          "mtr",
	Title:          "Sends spans of requests to a tracer",
	New:            func() policies.Conf { return new(Conf) },
	Schema:         policies.SchemaOf[Conf](),
	Single:         true,
	SingleOnRoutes: true,
	Defaults:       defaults,
	Applies:        func(_ string, p api.Protocol) bool { return p.HTTPLike() },
	Requires:       requires,
	Docs:           docs,
	Example:        example,
}

// defaults: where there is a tracer every request is traced.
func defaults() policies.Conf {
	all := policies.Percentage("100")
	return &Conf{Sampling: &Sampling{Overall: &all, Client: &all, Random: &all}}
}

// requires: without a tracer there is nothing to sample.
func requires(of policies.Conf, path string) string {
	if c := of.(*Conf); path != "backends" && c.tracer() == nil {
		return "no policy names a tracer that spans can go to"
	}
	return ""
}
