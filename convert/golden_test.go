package convert_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/internal/converttest"
)

// TestTranslations holds what documents of each language are in each other.
func TestTranslations(t *testing.T) {
	t.Parallel()
	converttest.Translated(t, "testdata/*.txtar", func(objects []*api.Object, o convert.Options) convert.Result {
		result, _, _ := convert.Own(objects, o)
		return result
	})
}
