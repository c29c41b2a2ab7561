package trafficpermission_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/trafficpermission"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, trafficpermission.Kind)
}

// TestExample: what people are shown is accepted, by an engine that knows the kind alone.
func TestExample(t *testing.T) {
	t.Parallel()
	c := policytest.CatalogOf(trafficpermission.Kind)
	objects, err := decode.Objects(c, "example.yaml", []byte(trafficpermission.Kind.Example))
	if err != nil || len(objects) != 1 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	if text := trafficpermission.Kind.JSONSchema(c); len(text) == 0 {
		t.Error("no schema")
	}
	if _, err := decode.Objects(api.NewCatalog(api.Types()...), "f", []byte(trafficpermission.Kind.Example)); !api.Refuses(err) {
		t.Error("an engine that does not enforce it accepts it")
	}
}
