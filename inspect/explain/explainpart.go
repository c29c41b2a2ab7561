package explain

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
)

// Of says what applies to a dataplane: all of it, or what concerns the
// destination that to names by id, name, or name and port.
func Of(m *resolve.Reader, dp api.Ref, to string) (Explanation, error) {
	return PartOf(m, dp, to, inspect.ListOptions{})
}

// PartOf is Explain with a page of the outbounds to destinations of whose ids the name of
// part is a part. All else is as in the whole.
func PartOf(m *resolve.Reader, dp api.Ref, to string, part inspect.ListOptions) (Explanation, error) {
	r, chosen, err := chosenOutbounds(m, dp, to, part)
	if err != nil {
		return Explanation{}, err
	}
	var said notes.Collector
	e := explanation(m, r, to, inspect.Paged(chosen, part), part.Brief, &said)
	e.OutboundsTotal = len(chosen)
	e.NotApplied, e.NotAppliedTotal = notApplied(m, r, chosen)
	e.note(m, r, &said)
	return e, nil
}

// chosenOutbounds are those of a dataplane to a destination, or all, that part chooses by name.
func chosenOutbounds(m *resolve.Reader, dp api.Ref, to string, part inspect.ListOptions) (r *effective.Resolved, chosen []*effective.Outbound, err error) {
	if r, err = inspect.Dataplane(m, dp); err != nil {
		return nil, nil, err
	}
	all, err := outboundsTo(r, to)
	if err != nil || part.Name == "" {
		return r, all, err
	}
	for _, o := range all {
		if strings.Contains(o.Destination.ID, part.Name) {
			chosen = append(chosen, o)
		}
	}
	return r, chosen, nil
}

// explanation tells of r, of some of its outbounds, and of its inbounds and edges where not one
// destination is asked for. What cannot be told is among the notes.
func explanation(m *resolve.Reader, r *effective.Resolved, to string, outbounds []*effective.Outbound, brief bool, said *notes.Collector) Explanation {
	e := Explanation{Dataplane: r.Ref.FullName(), Revision: m.Snapshot().Revision(), Identity: identityOf(m, r), Closed: r.Closed, Outbounds: []Outbound{}, Inbounds: []Inbound{}, Notes: []api.Note{}}
	for _, o := range outbounds {
		attempt(r, said, func() { e.Outbounds = append(e.Outbounds, outbound(r, o, brief)) })
	}
	if to != "" {
		return e
	}
	for _, x := range r.Edges {
		e.Edges = append(e.Edges, edge(r, x.Edge))
	}
	for _, in := range r.Inbounds {
		attempt(r, said, func() { e.Inbounds = append(e.Inbounds, inbound(in.Inbound)) })
	}
	attempt(r, said, func() { e.Policies = sim.PolicyViews(r.OfWhole(), "") })
	return e
}

// note adds what there is to say on r, after those that there are.
func (e *Explanation) note(m *resolve.Reader, r *effective.Resolved, said *notes.Collector) {
	said.Add(m.NotesAt(r.Ref)...)
	said.Add(notes.LookAt(m).At(r)...)
	e.Notes = append(e.Notes, said.Notes...)
}

// Brief is e without what policies say at its outbounds, which is most of it: for a list of
// where a dataplane calls.
func (e Explanation) Brief() Explanation {
	e.Outbounds = slices.Clone(e.Outbounds)
	for i := range e.Outbounds {
		o := &e.Outbounds[i]
		o.Policies, o.Routes = map[string]sim.Policy{}, slices.Clone(o.Routes)
		for j := range o.Routes {
			o.Routes[j].Policies = map[string]sim.Policy{}
			o.Routes[j].Backends = slices.Clone(o.Routes[j].Backends)
			for k := range o.Routes[j].Backends {
				o.Routes[j].Backends[k].Policies = nil
			}
		}
	}
	return e
}

// outboundsTo are those of r to a destination; to all where it is empty. There must be one to a
// destination that is named.
func outboundsTo(r *effective.Resolved, to string) (chosen []*effective.Outbound, err error) {
	if to == "" {
		return r.Outbounds, nil
	}
	asked, have := inspect.AddressOf(to), []string{}
	for _, o := range r.Outbounds {
		if have = append(have, o.Destination.ID); asked.Names(o) {
			chosen = append(chosen, o)
		}
	}
	if len(chosen) == 0 {
		return nil, inspect.NotFound("outbound of "+r.Ref.FullName()+" to", to, have)
	}
	return chosen, nil
}
