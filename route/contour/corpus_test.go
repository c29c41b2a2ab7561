package contour_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/corpus"
	"github.com/weftmesh/weft/route/contour"
)

// Every text of the corpus has the notes and tables that stand under it.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus.Routes(t, contour.Dialect, "testdata/*.txtar")
}
