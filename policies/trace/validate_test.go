package trace_test

import (
	"testing"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/trace"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, trace.Kind)
}

func TestWrites(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, trace.Kind)
}

// TestExample: what people are shown is accepted.
func TestExample(t *testing.T) {
	t.Parallel()
	objects, err := decode.Objects(policytest.CatalogOf(trace.Kind), "example.yaml", []byte(trace.Kind.Example))
	if err != nil || len(objects) != 2 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
}
