package loadbalancing_test

import (
	"testing"

	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/loadbalancing"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, loadbalancing.Kind)
}

func TestWritesWhatItSays(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, loadbalancing.Kind)
}
