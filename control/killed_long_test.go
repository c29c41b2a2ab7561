//go:build long

package control_test

import "testing"

// TestManyKills kills a control plane 200 times in rotations (I14).
func TestManyKills(t *testing.T) { killedInRotations(t, 200) }
