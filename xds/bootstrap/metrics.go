package bootstrap

// What an agent says among the features of its bootstrap that serves metrics (docs/metrics-of-sidecars.md). An Envoy
// without them is given no listener for metrics: its bootstrap may lack the cluster or the certificate, and
// then it would refuse the listener.
const (
	// MetricsFeature: the agent serves metrics at a socket that the bootstrap names.
	MetricsFeature = "feature-weft-metrics"
	// MetricsTLSFeature: it has a certificate for them too.
	MetricsTLSFeature = "feature-weft-metrics-tls"
)

// MetricsPath is the one path at which the agent serves metrics, whatever clients ask for.
const MetricsPath = "/metrics"
