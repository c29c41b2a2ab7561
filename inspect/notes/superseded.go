package notes

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// lost is what is lost at one dataplane of what documents say.
type lost struct {
	notes  []api.Note         // what its Envoy does not get as it is written
	idle   []*api.Origin      // entries of policies of which a field has no effect at some place of it
	failed []impact.Placement // where a bug keeps that from being known
}

type lostKey struct{}

// lostIn yields what is lost at the dataplanes of a mesh, of most of which that is nothing. It costs
// what came out differently since somebody asked.
func lostIn(m *resolve.Reader, mesh string) iter.Seq[lost] {
	look, idle := LookAt(m), impact.NewIdle()
	return resolve.AtDataplanes(m, mesh, lostKey{}, func(r *effective.Resolved) (l lost, ok bool) {
		l.notes = look.At(r)
		l.idle, l.failed = idle.At(r)
		return l, len(l.notes)+len(l.idle)+len(l.failed) > 0
	})
}

// idleSomewhere are the policies of entries that have to be looked at everywhere, since a field of
// them has no effect somewhere: those for a whole mesh are left out, as idleNotes does.
func idleSomewhere(m *resolve.Reader, where []lost) []api.Ref {
	seen, refs := map[*api.Origin]bool{}, map[api.Ref]bool{}
	var out []api.Ref
	for _, l := range where {
		for _, entry := range l.idle {
			if seen[entry] || refs[entry.Ref] {
				continue
			}
			seen[entry] = true
			o, ok := m.Snapshot().Get(entry.Ref)
			if !ok {
				continue
			}
			if spec, ok := o.Spec.(*policies.Spec); ok && !forAll(spec, entry.Field) {
				refs[entry.Ref] = true
				out = append(out, entry.Ref)
			}
		}
	}
	slices.SortFunc(out, api.Ref.Compare)
	return out
}
