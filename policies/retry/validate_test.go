package retry_test

import (
	"testing"

	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/retry"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, retry.Kind)
}

func TestWritesWhatItSays(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, retry.Kind)
}
