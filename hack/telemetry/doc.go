// Package telemetry holds what sidecars write against what really receives it: the collector of OpenTelemetry,
// Zipkin's server and Prometheus' own parser. It is a module of its own, since the collector is large.
package telemetry
