package loadbalancingstrategy_test

import (
	"testing"

	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/loadbalancingstrategy"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, loadbalancingstrategy.Kind)
}

func TestWritesWhatItSays(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, loadbalancingstrategy.Kind)
}
