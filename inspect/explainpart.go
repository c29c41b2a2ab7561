package inspect

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// Explain says what applies to a dataplane: all of it, or what concerns the
// destination that to names by id, name, or name and port.
func Explain(m *resolve.Reader, dp api.Ref, to string) (Explanation, error) {
	return ExplainPart(m, dp, to, Part{})
}

// ExplainPart is Explain with a page of the outbounds to destinations of whose ids the name of
// part is a part. All else is as in the whole.
func ExplainPart(m *resolve.Reader, dp api.Ref, to string, part Part) (Explanation, error) {
	r, err := Dataplane(m, dp)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Dataplane: r.Ref.FullName(), Revision: m.Snapshot().Revision(), Identity: identityOf(m, r), Closed: r.Closed, Outbounds: []Outbound{}, Inbounds: []Inbound{}, Notes: []api.Note{}}
	var notes noteSet
	chosen, err := outboundsTo(r, to)
	if err != nil {
		return e, err
	}
	if part.Name != "" {
		var named []*resolve.Outbound
		for _, o := range chosen {
			if strings.Contains(o.Destination.ID, part.Name) {
				named = append(named, o)
			}
		}
		chosen = named
	}
	e.OutboundsTotal = len(chosen)
	for _, o := range paged(chosen, part) {
		attempt(r, &notes, func() { e.Outbounds = append(e.Outbounds, outbound(r, o)) })
	}
	for _, x := range r.Edges {
		if to == "" {
			e.Edges = append(e.Edges, edge(r, x.Edge))
		}
	}
	for _, in := range r.Inbounds {
		if to == "" {
			attempt(r, &notes, func() { e.Inbounds = append(e.Inbounds, inbound(in.Inbound)) })
		}
	}
	e.Unmatched, e.UnmatchedTotal = unmatched(m, r, chosen)
	notes.add(m.NotesAt(dp)...)
	notes.add(lookAt(m).at(r)...)
	e.Notes = append(e.Notes, notes.notes...)
	return e, nil
}

// outboundsTo are those of r to a destination; to all where it is empty. There must be one to a
// destination that is named.
func outboundsTo(r *resolve.Resolved, to string) (chosen []*resolve.Outbound, err error) {
	if to == "" {
		return r.Outbounds, nil
	}
	asked, have := addressOf(to), []string{}
	for _, o := range r.Outbounds {
		if have = append(have, o.Destination.ID); asked.names(o) {
			chosen = append(chosen, o)
		}
	}
	if len(chosen) == 0 {
		return nil, NotFound("outbound of "+r.Ref.FullName()+" to", to, have)
	}
	return chosen, nil
}

// Page is e with that part of its outbounds.
func (e Explanation) Page(part Part) Explanation {
	e.Outbounds = paged(e.Outbounds, part)
	return e
}

// paged is a part of a list.
func paged[T any](list []T, part Part) []T {
	list = list[min(part.Offset, len(list)):]
	if part.Size > 0 {
		list = list[:min(part.Size, len(list))]
	}
	return list
}
