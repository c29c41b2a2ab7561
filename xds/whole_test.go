package xds_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/xdstest"
)

// TestWholeSidecars holds all cases to the last field.
func TestWholeSidecars(t *testing.T) {
	t.Parallel()
	xdstest.Sidecars(t, "testdata/sidecars/*.txtar")
}
