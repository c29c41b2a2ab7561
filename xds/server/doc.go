// Package server serves xDS: one aggregated stream for each sidecar, in both
// forms of the protocol, delta and state of the world.
//
// The protocol itself is go-control-plane's. Each stream gets a protocol engine
// of its own whose cache is the stream, so who is asking is never in doubt, and
// a stream holds nothing but pointers to resources that all streams share. A
// publication costs what it affects: the streams of other dataplanes are not
// even looked at.
//
// What a stream is sent, and when, is decided by package push, of which each stream has a Stream.
//
// It promises that identity comes before the first byte of configuration, that
// a new cluster works before a route names it and goes only after no route
// does, that a slow reader holds back only itself, that a refused configuration
// is sent once and replaced by the last good one, and that nobody is ever given
// an empty configuration because something is not known yet.
package server
