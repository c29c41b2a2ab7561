package timeout_test

import (
	"testing"

	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/timeout"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, timeout.Kind)
}

func TestWritesWhatItSays(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, timeout.Kind)
}
