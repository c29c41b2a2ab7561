package tls_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/policies/internal/policytest"
	"github.com/weftmesh/weft/policies/tls"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	policytest.Stories(t, tls.Kind)
}

// TestExample: what people are shown is accepted.
func TestExample(t *testing.T) {
	t.Parallel()
	c := policytest.CatalogOf(tls.Kind)
	objects, err := decode.Objects(c, "example.yaml", []byte(tls.Kind.Example))
	if err != nil || len(objects) != 2 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	if text := tls.Kind.JSONSchema(c); len(text) == 0 {
		t.Error("no schema")
	}
	if _, err := decode.Objects(api.NewCatalog(api.Types()...), "f", []byte(tls.Kind.Example)); !api.Refuses(err) {
		t.Error("an engine without the kind accepts it")
	}
}
