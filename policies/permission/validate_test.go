package permission_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/permission"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, permission.Kind)
}

// TestExample: what people are shown is accepted, by an engine that knows the kind alone.
func TestExample(t *testing.T) {
	t.Parallel()
	c := policytest.CatalogOf(permission.Kind)
	objects, err := decode.Objects(c, "example.yaml", []byte(permission.Kind.Example))
	if err != nil || len(objects) != 1 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	if text := permission.Kind.JSONSchema(c); len(text) == 0 {
		t.Error("no schema")
	}
	if _, err := decode.Objects(api.NewCatalog(api.Types()...), "f", []byte(permission.Kind.Example)); !api.Refuses(err) {
		t.Error("an engine that does not enforce it accepts it")
	}
}
