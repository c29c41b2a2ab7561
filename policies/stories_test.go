package policies_test

import (
	"testing"

	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/policies/internal/policytest"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, all.Kinds...)
}
