package ratelimit_test

import (
	"testing"

	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/ratelimit"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, ratelimit.Kind)
}

func TestWritesWhatItSays(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, ratelimit.Kind)
}
