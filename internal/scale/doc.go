// Package scale holds the measurement of a control plane over a large cluster, as a test
// with a real API server: `make test-kube-long` runs it.
package scale
