package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
)

// Unanswered is a service without a ready endpoint.
type Unanswered struct {
	ID     string
	Object *api.Object // nil of a kuma.io/service
	// Why says what keeps endpoints away, for people, with what to do.
	Why string
}

// Unanswered are the services of a mesh for which nobody answers though somebody is to, in the order of their
// ids. Its cost is that of what it tells.
func (q *Reader) Unanswered(mesh string) (out []Unanswered) {
	x, ok := q.mesh(mesh)
	if !ok {
		return nil
	}
	for id, m := range x.MembersIdle.In(x.At, index.Any) {
		d, _ := x.Destinations.Get(x.At, id)
		if d != nil {
			out = append(out, Unanswered{d.ID, d.Object, d.WhyIdle(m)})
		}
	}
	return out
}
