package crd_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/crdtest"
)

// An API server takes every definition: it is structural, its rules compile, and they
// cost no more than it allows.
func TestDefinitionsAreTaken(t *testing.T) {
	t.Parallel()
	c := world.Catalog()
	taken := crdtest.Resources(t, crd.All(c, "dev", crd.Bundles(c)...))
	if n := len(taken); n < 15 {
		t.Errorf("only %d kinds are defined", n)
	}
	for _, kind := range []string{api.KindMeshIdentity, api.KindMeshTrust, "MeshTLS", "MeshTrafficPermission"} {
		if taken[kind] == nil {
			t.Errorf("%s has no definition", kind)
		}
	}
}
