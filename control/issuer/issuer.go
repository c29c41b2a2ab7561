// Package issuer gives certificates: POST /certify for agents that make their own keys, keys of the
// control plane for kuma-dp, which makes none, and whom a workload has to be by the SPIRE beside it. It
// carries out which identities are revoked, and has roots of authorities replaced.
//
// It promises that nobody gets a certificate of a name that its credential does not prove, that a
// certificate is written down before it is given, and that a store of before is told from one of now.
// Which authority signs, package authorities knows.
package issuer
