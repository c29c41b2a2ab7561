// Package telemetryload puts load on programs of weft as they are shipped, and holds it against what is told of the
// requests: `make long` counts a million of them, `make bench-telemetry` measures what it costs (docs/traffic.md).
package telemetryload
