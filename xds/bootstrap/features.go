package bootstrap

import "slices"

// AgentFeatures are what the agent of an Envoy takes and serves, as the features of the bootstrap say. An Envoy is
// given no more than its agent is there for.
type AgentFeatures struct {
	// Requests: it takes what Envoy writes of requests.
	Requests bool
	// Metrics: it serves metrics, and MetricsTLS: it has a certificate for that too.
	Metrics, MetricsTLS bool
}

// FeaturesOf reads the names of features.
func FeaturesOf(names []string) AgentFeatures {
	has := func(name string) bool { return slices.Contains(names, name) }
	return AgentFeatures{Requests: has(RequestsFeature), Metrics: has(MetricsFeature), MetricsTLS: has(MetricsTLSFeature)}
}
