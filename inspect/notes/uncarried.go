package notes

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve"
)

// Uncarried are violations of written policies that nothing carries out as they are written, so
// that a write of them is refused: those which would only shut who asks out, be it that what stands
// beside them makes it so. Before is what holds without the write, nil for nothing: what was shut
// already may be written on, for its author is about to mend it or means other parts of it.
func Uncarried(before, after *resolve.Reader, objects []*api.Object) (out []*api.Violation) {
	places := LocatorIn(snapshot.New(0, objects...))
	for _, o := range objects {
		var known []api.Note
		if before != nil {
			known = before.Uncarried(o.Ref)
		}
		for _, n := range after.Uncarried(o.Ref) {
			if !slices.ContainsFunc(known, func(k api.Note) bool { return k.Code == n.Code && k.Field == n.Field }) {
				out = append(out, &api.Violation{Position: places.Of(n), Object: o.Ref, Field: n.Field, Code: n.Code, Message: n.Message, Severity: api.Error})
			}
		}
	}
	return out
}
