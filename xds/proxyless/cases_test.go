package proxyless_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/xdstest"
)

// TestSidecars holds the cases of package xds to the last field: what gRPC clients without a proxy get are among them.
func TestSidecars(t *testing.T) {
	t.Parallel()
	xdstest.Sidecars(t, "../testdata/sidecars/*.txtar")
}
