package world

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// conditions are those of objects in a model that no sidecar has seen.
func conditions(m *resolve.Model, objects []*api.Object) []Condition {
	return []Condition{}
}
