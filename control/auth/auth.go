// Package auth is who may connect to a control plane as what: tokens of dataplanes and of users, the
// keys that replicas share, pods by the tokens of their service accounts, and what a token lets a
// sidecar say of itself.
//
// It promises that a revoked token opens nothing any more, at no replica, and that no sidecar is more
// than its credential proves.
package auth
