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
	if n := len(crdtest.Resources(t, crd.All(c, "dev", crd.Bundles(c)...))); n < 11 {
		t.Errorf("only %d kinds are defined", n)
	}
}

// The same of the kinds of identity, which no catalogue has yet.
func TestDefinitionsOfIdentityAreTaken(t *testing.T) {
	t.Parallel()
	c := api.NewCatalog(append(api.Types(), api.IdentityTypes()...)...)
	taken := crdtest.Resources(t, crd.All(c, "dev"))
	for _, kind := range []string{api.KindMeshIdentity, api.KindMeshTrust} {
		if taken[kind] == nil {
			t.Errorf("%s has no definition", kind)
		}
	}
}
