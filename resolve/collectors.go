package resolve

import "github.com/weftmesh/weft/api"

// NamingCollector are the policies of which a ref leads to a MeshOpenTelemetryBackend, sorted.
func (q *Reader) NamingCollector(backend api.Ref) []api.Ref {
	x, ok := q.mesh(backend.Mesh)
	if !ok {
		return nil
	}
	return x.NamingCollector(backend)
}
