package faultinjection_test

import (
	"testing"

	"github.com/weftmesh/weft/policies/faultinjection"
	"github.com/weftmesh/weft/policies/internal/policytest"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, faultinjection.Kind)
}

func TestWritesWhatItSays(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, faultinjection.Kind)
}
