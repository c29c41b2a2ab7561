package circuitbreaker_test

import (
	"testing"

	"github.com/weftmesh/weft/policies/circuitbreaker"
	"github.com/weftmesh/weft/policies/internal/policytest"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, circuitbreaker.Kind)
}

func TestWritesWhatItSays(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, circuitbreaker.Kind)
}
