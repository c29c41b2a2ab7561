package web

import (
	"github.com/weftmesh/weft/admission"
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// restored are changes back to what was, as writes over now: with everything that holds for
// documents that are sent. What was is the user's from now on; the status of what is there
// stays, since it says what is, and so do the Dataplanes that sidecars brought along, and what
// weft has made of authorities, unless their mesh goes: who has a certificate goes by that.
func (b *batch) restored(now *api.Snapshot, changes []api.Change) ([]store.Write, error) {
	b.objects = nil
	var gone []store.Write
	going := map[string]bool{}
	for _, c := range changes {
		if c.After == nil && c.Before.Kind == api.KindMesh {
			going[c.Before.Name] = true
		}
	}
	for _, c := range changes {
		switch {
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
	writes, err := b.plan(now)
	if err != nil {
		return nil, err
	}
	for i := range b.objects {
		writes[i].Own = true // which of them came with a mesh was decided then
	}
	writes = append(writes, gone...)
	if _, wrong := admission.Admit(now, writes); len(wrong) > 0 {
		return nil, notValid(wrong)
	}
	return writes, nil
}
