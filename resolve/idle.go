package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/pods"
)

// idle is a destination that somebody is to answer for, and for which nobody does.
type idle struct {
	waiting []api.Ref // dataplanes whose inbounds are not ready, the first of them
	total   int       // how many those are
}

// mostIdle bounds the dataplanes that a destination without endpoints names.
const mostIdle = 3

func (a *idle) is(b *idle) bool {
	return a == nil && b == nil || a != nil && b != nil && a.total == b.total && slices.Equal(a.waiting, b.waiting)
}

// idleOf is nil of a destination for which somebody answers, and of those for which nobody has to: a
// Service of Kubernetes that selects no dataplane may be that of workloads outside the mesh, as may be
// the MeshService that is made of one, and what a MeshMultiZoneService gathers may be elsewhere.
func idleOf(d *dest, m *members, waiting []member) *idle {
	if len(m.list) > 0 || d.object == nil && !d.facts.Classic {
		return nil
	}
	out := &idle{}
	var seen []api.Ref
	for _, x := range waiting {
		if ref := x.plane.Object.Ref; !slices.Contains(seen, ref) {
			seen = append(seen, ref)
		}
	}
	out.total = len(seen)
	out.waiting = seen[:min(len(seen), mostIdle)]
	if out.total > 0 || len(m.left) > 0 || selectsByHand(d.object) {
		return out
	}
	return nil
}

// selectsByHand reports whether an object is a MeshService that somebody wrote for dataplanes of this mesh.
func selectsByHand(o *api.Object) bool {
	if o == nil || o.Kind != api.KindMeshService || o.From != nil || o.Labels[api.LabelManagedBy] == api.ManagedByController || pods.PartOf(o) != "" {
		return false
	}
	spec, ok := o.Spec.(*api.MeshService)
	return ok && index.GatherTarget(spec.Selector) != ""
}

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
	for id, m := range x.membersIdle.In(x.At, index.Any) {
		d, _ := x.dests.Get(x.At, id)
		if d != nil {
			out = append(out, Unanswered{d.ID, d.object, d.whyIdle(m)})
		}
	}
	return out
}

func (d *dest) whyIdle(m *members) string {
	const answer = "so that requests to it are answered with 503"
	what := fmt.Sprintf("%s has no ready endpoint%s, %s", d.ID, LeftText(m.left), answer)
	switch n := m.idle.total; {
	case n == 0 && len(m.left) > 0:
		return what
	case n == 0:
		return fmt.Sprintf("%s has no endpoint, %s: no dataplane that it selects has an inbound for its port %d; correct the selector or the port, or start a workload that it selects", d.ID, answer, d.Port)
	default:
		names := make([]string, len(m.idle.waiting))
		for i, ref := range m.idle.waiting {
			names[i] = ref.FullName()
		}
		more := ""
		if n > len(names) {
			more = fmt.Sprintf(" and %d more", n-len(names))
		}
		return fmt.Sprintf("%s: not ready are %s%s; look at the readiness probe of the workload, or at `state` and `health` of its inbound", what, strings.Join(names, ", "), more)
	}
}
