package world

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/resolve"
)

// conditionsIn are those of objects in a model that no sidecar has seen, so
// nothing is said of what Envoys hold.
func conditionsIn(m *resolve.Model, objects []*api.Object) []DocumentCondition {
	out := []DocumentCondition{}
	asked := map[api.Ref]bool{}
	var meshes []string
	seen := map[string]bool{}
	for _, o := range objects {
		asked[o.Ref] = true
		if o.Mesh != "" && !seen[o.Mesh] {
			seen[o.Mesh] = true
			meshes = append(meshes, o.Mesh)
		}
	}
	for _, mesh := range meshes {
		for _, s := range conditions.OverviewOf(m.Reader(nil), mesh, nil).Objects {
			if !asked[s.Ref] {
				continue
			}
			for _, c := range s.Conditions {
				if c.Type != "Programmed" {
					out = append(out, DocumentCondition{Object: s.Object, Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
				}
			}
		}
	}
	return out
}
