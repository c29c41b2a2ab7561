package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
)

// planeNotes are those on the Dataplane of a pod.
func (q *Reader) planeNotes(pod api.Ref) []api.Note {
	o := q.stage.PlaneOf(q.cluster, pod)
	if o == nil {
		return nil
	}
	x, ok := q.mesh(o.Mesh)
	if !ok {
		return nil
	}
	if why := x.KeptOut(o); why != nil {
		return []api.Note{*why}
	}
	return x.NotesOnOther(index.ObjectKey(o.Ref))
}
