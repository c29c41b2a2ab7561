package resolve

import (
	"github.com/weftmesh/weft/resolve/conditions"
)

// mesh is one mesh as a question sees it: what it looks at is counted.
type mesh struct {
	conditions.Mesh
	// asked is what other questions found out, as far as it is read only together with at; nil
	// where nothing is kept.
	asked *asked
}
