// Package metric is the policy MeshMetric: which figures of a sidecar and its workload are served to
// Prometheus or sent to collectors, and where (spec/kinds.md 8).
//
// It promises that only where metrics are served is part of a listener: which figures are among them, of
// which applications, and where they are sent the agent hears by itself, and no listener changes for it.
package metric

import (
	_ "embed"

	"github.com/weftmesh/weft/policies"
)

//go:embed example.yaml
var example string

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:         "MeshMetric",
	Plural:       "meshmetrics",
	Short:        "mm",
	Title:        "Serves metrics of sidecars and their applications",
	New:          func() policies.Conf { return new(Conf) },
	Schema:       policies.SchemaOf[Conf](),
	Single:       true,
	OfDataplanes: true,
	Defaults:     defaults,
	Requires:     requires,
	Docs:         docs,
	Example:      example,
}

// defaults: what most dashboards need, and of that what was counted.
func defaults() policies.Conf {
	return &Conf{Sidecar: &Sidecar{IncludeUnused: new(false), Profiles: &Profiles{AppendProfiles: []Profile{{Name: basic}}}}}
}

// requires: without a backend nobody asks for anything.
func requires(of policies.Conf, path string) string {
	if c := of.(*Conf); path != "backends" && len(c.Backends) == 0 {
		return "no policy names a backend to which metrics go"
	}
	return ""
}
