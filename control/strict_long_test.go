//go:build long

package control_test

import "testing"

// TestLoadPlaintextToStrictAndBack is case 34 of spec/identity.md 8 at its rate, 500 calls a
// second.
func TestLoadPlaintextToStrictAndBack(t *testing.T) { plaintextToStrictAndBack(t, 100) }
