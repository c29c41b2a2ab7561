package healthcheck_test

import (
	"testing"

	"github.com/weftmesh/weft/policies/healthcheck"
	"github.com/weftmesh/weft/policies/internal/policytest"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, healthcheck.Kind)
}

func TestWritesWhatItSays(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, healthcheck.Kind)
}
