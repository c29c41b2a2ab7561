package spiffe_test

import "crypto/ed25519"

// key signs deterministically, and quickly.
var key = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
