package conditions

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
	"github.com/weftmesh/weft/xds"
)

// participation is what one policy or route takes part in on the dataplanes that it concerns.
type participation struct {
	*impact.Impact
	counts Counts
	// lost are the dataplanes where it takes part and others stand in its place.
	lost int
	// on and missing are the dataplanes where it takes part, and those where it
	// has something to do and does not: of those the first, where no names are asked.
	on, missing []api.Ref
	refusing    []inspect.Sidecar
	// beside are those that have not confirmed it, and refuse what it takes no part in.
	beside []inspect.Sidecar
}

// participations follow the objects of one mesh to their dataplanes, and names those
// where named is set.
func participations(q *resolve.Reader, mesh string, refs []api.Ref, known inspect.FindSidecar, named bool) []*participation {
	out, all := make([]*participation, len(refs)), make([]participation, len(refs))
	for i := range out {
		out[i] = &all[i]
	}
	nobody := &inspect.Sidecar{}
	know := func(r *effective.Resolved, _ int) *inspect.Sidecar {
		if known != nil {
			if s, ok := known(r.Ref); ok {
				return &s
			}
		}
		return nobody
	}
	if len(refs) > 1 { // a dataplane is told of for several
		know = eachOnce(know)
	}
	reaches := q.ImpactOf(mesh, refs, func(n, plane int, r *effective.Resolved, p impact.Presence) {
		out[n].count(refs[n], r, p, know(r, plane), named)
	})
	for i, x := range reaches {
		out[i].Impact = x
	}
	return out
}

// eachOnce asks know once for each dataplane, which have numbers.
func eachOnce(know func(*effective.Resolved, int) *inspect.Sidecar) func(*effective.Resolved, int) *inspect.Sidecar {
	var asked []*inspect.Sidecar
	return func(r *effective.Resolved, plane int) *inspect.Sidecar {
		if more := plane + 1 - len(asked); more > 0 {
			asked = append(asked, make([]*inspect.Sidecar, more)...)
		}
		if asked[plane] == nil {
			asked[plane] = know(r, plane)
		}
		return asked[plane]
	}
}

func (x *participation) count(ref api.Ref, r *effective.Resolved, p impact.Presence, s *inspect.Sidecar, named bool) {
	x.counts.Selected++
	if p == impact.Lacks {
		if named || len(x.missing) == 0 {
			x.missing = append(x.missing, r.Ref)
		}
		return
	}
	x.counts.Effective++
	if named {
		x.on = append(x.on, r.Ref)
	}
	if p == impact.Loses {
		x.lost++
	}
	if !s.Connected {
		return
	}
	x.counts.Connected++
	switch {
	case s.Has(ref, r):
		x.counts.Programmed++
	case s.Refusal == nil:
	case xds.Concerns(r, ref, s.Refusal.Resources):
		x.counts.Rejected++
		x.refusing = append(x.refusing, *s)
	default:
		x.beside = append(x.beside, *s)
	}
}

// why says why the object, or only its entry at a field, takes no part where it is
// missing; empty where it is missing nowhere.
func (x *participation) why(q *resolve.Reader, field api.Path) string {
	if len(x.missing) == 0 {
		return ""
	}
	for _, n := range q.WhyNot(x.Ref, x.missing[0]) {
		entry, _, _ := strings.Cut(string(n.Field), ".targetRef")
		if field == "" || strings.HasPrefix(string(field), entry) {
			return n.Message
		}
	}
	return ""
}
