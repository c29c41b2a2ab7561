//go:build long

package control_test

import "testing"

// TestManyKills kills a control plane 200 times in rotations, and as often between plain text and
// mutual TLS alone (I14).
func TestManyKills(t *testing.T) {
	t.Run("in rotations", func(t *testing.T) { killedInRotations(t, 200) })
	t.Run("on the way to strict", func(t *testing.T) { killedOnTheWayToStrict(t, 200) })
}
