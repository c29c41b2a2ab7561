// Package bootstrap answers POST /bootstrap: a sidecar says who it is, and gets what its Envoy must
// know to begin, in the form of weft or in that of kuma-dp. A Dataplane that it brings along is stored.
//
// It promises that nobody gets a bootstrap who does not prove who it is where that is asked for, and
// that requests that are not answered yet take a bounded amount of memory.
package bootstrap
