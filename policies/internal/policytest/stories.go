// Package policytest is what the tests of all kinds of policy share: stories of
// validation, random confs, and a small configuration for a real Envoy.
package policytest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/corpus"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/kuma"
)

// Stories checks what is reported of the documents in testdata/validation of the
// package under test.
func Stories(t *testing.T, kinds ...*policies.Kind) {
	t.Helper()
	corpus.Check(t, CatalogOf(kinds...), "testdata/validation/*.txtar")
}

// CatalogOf knows the kinds, and Kuma's routes for them to target.
func CatalogOf(kinds ...*policies.Kind) *api.Catalog {
	types := slices.Clone(kuma.Dialect.Types)
	for _, k := range kinds {
		types = append(types, k.Type())
	}
	return api.NewCatalog(types...)
}

// JSON is a conf as explanations print it.
func JSON(c policies.Conf) string {
	text, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
