package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Unserved are the errors of routes for a host: why they, or a part of them, are not served
// there.
func (q *Reader) Unserved(mesh, host string) []api.Note {
	x, ok := q.mesh(mesh)
	if !ok {
		return nil
	}
	var out []api.Note
	for r := range x.RoutesByTarget.Values(x.At, host) {
		if !slices.ContainsFunc(r.Parsed.Entries, func(e route.Entry) bool { return e.To.Kind == api.KindHost && e.To.Name == host }) {
			continue
		}
		for _, n := range r.Parsed.Notes {
			if n.Severity == api.Error && n.Origin.Ref == r.Object.Ref {
				out = append(out, n)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b api.Note) int { return a.Origin.Ref.Compare(b.Origin.Ref) })
	return out
}
