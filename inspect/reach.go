package inspect

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
)

// Known finds how far one dataplane follows; not ok where its sidecar was never
// connected. A nil one knows nobody.
type Known func(api.Ref) (Sidecar, bool)

// Listed knows the sidecars of a list.
func Listed(sidecars []Sidecar) Known {
	byRef := make(map[api.Ref]*Sidecar, len(sidecars))
	for i := range sidecars {
		byRef[sidecars[i].Dataplane] = &sidecars[i]
	}
	return func(r api.Ref) (Sidecar, bool) {
		if s := byRef[r]; s != nil {
			return *s, true
		}
		return Sidecar{}, false
	}
}

// participation is what one policy or route takes part in on the dataplanes that it concerns.
type participation struct {
	*resolve.Reach
	counts Counts
	// lost are the dataplanes where it takes part and others stand in its place.
	lost int
	// on and missing are the dataplanes where it takes part, and those where it
	// has something to do and does not: of those the first, where no names are asked.
	on, missing []api.Ref
	refusing    []Sidecar
	// beside are those that have not confirmed it, and refuse what it takes no part in.
	beside []Sidecar
}

// participations follow the objects of one mesh to their dataplanes, and names those
// where named is set.
func participations(q *resolve.Reader, mesh string, refs []api.Ref, known Known, named bool) []*participation {
	out, all := make([]*participation, len(refs)), make([]participation, len(refs))
	for i := range out {
		out[i] = &all[i]
	}
	nobody := &Sidecar{}
	know := func(r *effective.Resolved, _ int) *Sidecar {
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
	reaches := q.ReachOf(mesh, refs, func(n, plane int, r *effective.Resolved, p resolve.Presence) {
		out[n].count(refs[n], r, p, know(r, plane), named)
	})
	for i, x := range reaches {
		out[i].Reach = x
	}
	return out
}

// eachOnce asks know once for each dataplane, which have numbers.
func eachOnce(know func(*effective.Resolved, int) *Sidecar) func(*effective.Resolved, int) *Sidecar {
	var asked []*Sidecar
	return func(r *effective.Resolved, plane int) *Sidecar {
		if more := plane + 1 - len(asked); more > 0 {
			asked = append(asked, make([]*Sidecar, more)...)
		}
		if asked[plane] == nil {
			asked[plane] = know(r, plane)
		}
		return asked[plane]
	}
}

func (x *participation) count(ref api.Ref, r *effective.Resolved, p resolve.Presence, s *Sidecar, named bool) {
	x.counts.Selected++
	if p == resolve.Lacks {
		if named || len(x.missing) == 0 {
			x.missing = append(x.missing, r.Ref)
		}
		return
	}
	x.counts.Effective++
	if named {
		x.on = append(x.on, r.Ref)
	}
	if p == resolve.Loses {
		x.lost++
	}
	if !s.Connected {
		return
	}
	x.counts.Connected++
	switch {
	case s.has(ref, r):
		x.counts.Programmed++
	case s.Refusal == nil:
	case xds.Concerns(r, ref, s.Refusal.Resources):
		x.counts.Rejected++
		x.refusing = append(x.refusing, *s)
	default:
		x.beside = append(x.beside, *s)
	}
}

// has reports whether the Envoy has confirmed what r says of an object: all of r,
// or an earlier state in which the object stood as it stands now, or all but what it refuses, in
// which the object takes no part.
func (s *Sidecar) has(ref api.Ref, r *effective.Resolved) bool {
	if s.Refusal == nil && s.InSync {
		return true
	}
	return s.Confirmed != nil && r.SameFor(ref, s.Confirmed) ||
		s.Refusal != nil && s.Rest != nil && r.SameFor(ref, s.Rest) && !xds.Concerns(r, ref, s.Lacks)
}

// notesOf are what there is to say about an object where it is attached: fields
// without effect, and what Envoys do not get as it is written.
func notesOf(q *resolve.Reader, x *resolve.Reach, look look) []api.Note {
	var all noteSet
	all.add(idleNotes(q, x)...)
	all.add(useless(q, x)...)
	for _, p := range x.Places {
		if !q.Visit() {
			break
		}
		all.add(look.place(p)...)
		all.add(look.between(q, p)...)
	}
	return slices.DeleteFunc(all.notes, func(n api.Note) bool { return owner(n) != x.Ref })
}

// place is what the Envoy of the dataplane at p does not get as it is written, and which limits in
// time never fire there.
func (l look) place(p resolve.Place) []api.Note {
	var at any = p.Inbound
	switch {
	case p.Outbound != nil:
		at = p.Outbound
	case p.Cluster != nil:
		at = p.Cluster.Cluster
	}
	notes, known := l.known[at]
	if !known {
		notes = l.asked(p)
		l.known[at] = notes
	}
	return notes
}

func (l look) asked(p resolve.Place) []api.Note {
	return l.safely(p.At, func() []api.Note {
		switch {
		case p.Outbound != nil:
			return slices.Concat(l.renderer.OutboundNotes(p.At, p.Outbound), ownBounds(l.places.snapshot, p.At, p.Outbound))
		case p.Cluster != nil:
			return slices.Concat(xds.ClusterNotes(p.Cluster), ownBounds(l.places.snapshot, p.At, p.At.Sending(p.Cluster.Cluster.Name)...))
		}
		return l.renderer.InboundNotes(p.At, p.Inbound)
	})
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

// refNames are the names of refs, by which those of two namespaces are told apart.
func refNames(refs []api.Ref) []string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.FullName()
	}
	return out
}

// list is words as people list them, at most three of them.
func list(words []string) string {
	if more := len(words) - 3; more > 0 {
		return strings.Join(words[:3], ", ") + " and others"
	}
	return strings.Join(words, ", ")
}
