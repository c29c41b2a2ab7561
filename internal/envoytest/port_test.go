package envoytest_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
)

// TestPortsOfTestsThatRun: as many ports as two tests of many listeners take, of which
// chance alone would give some twice.
func TestPortsOfTestsThatRun(t *testing.T) {
	t.Parallel()
	got := map[uint32]bool{}
	for range 600 {
		port := envoytest.Port(t)
		if got[port] {
			t.Fatalf("port %d is given twice", port)
		}
		got[port] = true
	}
}
