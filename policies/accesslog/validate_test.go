package accesslog_test

import (
	"testing"

	"github.com/weftmesh/weft/policies/accesslog"
	"github.com/weftmesh/weft/policies/internal/policytest"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, accesslog.Kind)
}

func TestWritesWhatItSays(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, accesslog.Kind)
}
