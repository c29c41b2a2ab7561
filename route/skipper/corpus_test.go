package skipper_test

import (
	"testing"

	"github.com/weftmesh/weft/internal/corpus"
	"github.com/weftmesh/weft/route/skipper"
)

// Every text of the corpus is refused, or has the notes and tables, as it stands under it.
func TestCorpus(t *testing.T) {
	t.Parallel()
	corpus.Routes(t, skipper.Dialect, "testdata/*.txtar")
}
