// Package mtls brings the sidecars of meshes from plain text to strict mutual TLS and back: what is
// known of the certificate of each, which of them follow, and for how long inbounds take both.
//
// It promises that nobody is called in a way that it does not take, whatever happens to a control plane:
// each step rests on what Envoys have acknowledged, and is written down before anybody is told of it.
// The steps are the tables of states.go. Who gets a certificate, package issuer decides.
package mtls
