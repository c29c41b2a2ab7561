// Package routing is what routes and policies say about each destination.
package routing

import (
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/services"
)

// Stage is what routes and policies say about each destination, and the selectors that tell
// its classes of dataplanes apart.
type Stage struct {
	below     services.Mesh
	Routing   *derive.Collection[Routing]
	Subjects  *derive.Collection[Subjects]
	Selectors *derive.Collection[Selectors]
}

// Mesh is one mesh at this stage.
type Mesh struct {
	services.Mesh
	*Stage
}

// Mesh is one mesh at this stage, read by at.
func (s *Stage) Mesh(at derive.At) Mesh {
	return Mesh{s.below.Stage.Mesh(at), s}
}

// New adds this stage above the one that it reads.
func New(below services.Mesh) Mesh {
	s := &Stage{below: below}
	s.addSubjects()
	return s.Mesh(nil)
}
