// Package alerts holds the queries of deploy's alerts and dashboard to Prometheus' own parser,
// and to docs/metrics.md. It is a module of its own: weft does without Prometheus.
package alerts
