package changes

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/store"
)

// restored are changes back to what was, as writes over now: with everything that holds for
// documents that are sent. What was is the user's from now on; the status of what is there
// stays, since it says what is, and so do the Dataplanes that sidecars brought along, and what
// weft has made of authorities, and revocations, unless their mesh goes: who has a certificate goes by
// that.
func (b *batch) restored(now *snapshot.Snapshot, changes []snapshot.Change) (admission.WriteRequest, error) {
	b.objects = nil
	var gone []store.Write
	going := map[string]bool{}
	for _, c := range changes {
		if c.After == nil && c.Before.Kind == api.KindMesh {
			going[c.Before.Name] = true
		}
	}
	var kept []api.Ref
	for _, c := range changes {
		switch {
		case b.staysRevoked(now, c, going):
			kept = append(kept, c.Ref())
		case api.MadeByWeft(c.Before) && !going[c.Before.Mesh]:
		case c.After == nil:
			ref := c.Before.Ref
			gone = append(gone, store.Write{Delete: &ref})
		case c.After.Owner == api.Ephemeral:
		default:
			o := *c.After
			if o.Owner = api.User; c.Before != nil {
				o.Status = nil
			}
			b.objects = append(b.objects, &o)
		}
	}
	asked, err := b.asked(now)
	for i := range b.objects {
		asked.Writes[i].Own = true // which of them came with a mesh was decided then
	}
	for _, ref := range kept {
		asked.Found = append(asked.Found, &api.Violation{Object: ref, Code: "RevocationsKept", Severity: api.Warning,
			Message: "it stays as it is: a rollback does not let in again who was revoked since; give --restore-revoked to have it as it was then too"})
	}
	asked.Writes = append(asked.Writes, gone...)
	return asked, err
}

// staysRevoked reports whether a change is of the revocations of a mesh, which a rollback leaves as they
// are: who was revoked is not let in again by going back to a moment before it. Those of a mesh
// that comes again, or goes, come and go with it.
func (b *batch) staysRevoked(now *snapshot.Snapshot, c snapshot.Change, going map[string]bool) bool {
	ref := c.Ref()
	return !b.restoreRevoked && ref.Name == api.RevocationsName(ref.Mesh) &&
		!going[ref.Mesh] && (ref.Mesh == api.DefaultMesh || now.Has(api.Ref{Kind: api.KindMesh, Name: ref.Mesh}))
}
