package contour_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/converttest"
	"github.com/weftmesh/weft/route/contour"
)

// TestTranslated holds how this language says what others say.
func TestTranslated(t *testing.T) {
	t.Parallel()
	converttest.Translated(t, "../../convert/testdata/*.txtar", nil, contour.KindHTTPProxy)
}
