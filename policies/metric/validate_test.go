package metric_test

import (
	"testing"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/metric"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, metric.Kind)
}

func TestWrites(t *testing.T) {
	t.Parallel()
	policytest.Writes(t, metric.Kind)
}

// TestExample: what people are shown is accepted.
func TestExample(t *testing.T) {
	t.Parallel()
	objects, err := decode.Objects(policytest.CatalogOf(metric.Kind), "example.yaml", []byte(metric.Kind.Example))
	if err != nil || len(objects) != 2 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
}
