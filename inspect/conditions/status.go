// Package conditions tells how objects fare: their conditions, where they take part, the overview of a mesh, and
// everything that is wrong by who has to act.
package conditions

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// place says of each note where its field stands.
func (s *Status) place(places *notes.Locator) {
	s.Notes = slices.Clone(s.Notes) // the model's are shared
	for i := range s.Notes {
		s.Notes[i].Position = places.Of(s.Notes[i])
	}
}

// Status is how an object fares (spec/contract.md 6).
type Status struct {
	Object     string      `json:"object"`
	Ref        api.Ref     `json:"ref"`
	Conditions []Condition `json:"conditions"`
	Dataplanes Counts      `json:"dataplanes"`
	Notes      []api.Note  `json:"notes,omitempty"`
	// Own is the status in the form that the route's language has for it.
	Own any `json:"own,omitempty"`
}

// inOwnForm adds what the language of a route says of how it fares.
func (s *Status) inOwnForm(m *resolve.Reader, o *api.Object) {
	d := m.Dialect(o.Kind)
	if d == nil || d.Status == nil {
		return
	}
	f := route.Findings{Object: o, Notes: s.Notes, Objects: m.See(o.Mesh), Edges: m.EdgesOf(o.Ref)}
	if r, ok := m.Route(o.Ref); ok {
		f.Entries = r.Entries
	}
	for _, c := range s.Conditions {
		f.Verdicts = append(f.Verdicts, route.StatusCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
	}
	s.Own = d.Status(f)
}

// Condition is one finding in Kubernetes' form.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"` // True, False, Unknown
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Source is where the field stands that the message is about: file:line:col.
	Source     string `json:"source,omitempty"`
	Dataplanes Counts `json:"dataplanes"`
}

// Counts are numbers of dataplanes.
type Counts struct {
	// Selected are those that it is meant for: the top-level targetRef selects them,
	// and they call what it is about, or have an inbound that it is about.
	Selected   int `json:"selected"`
	Effective  int `json:"effective"`  // of them, where it takes part
	Connected  int `json:"connected"`  // of those, whose sidecar is connected
	Programmed int `json:"programmed"` // of those, whose Envoy has confirmed it
	Rejected   int `json:"rejected"`   // of those, whose Envoy refused it
}

// Overview is the status of a mesh.
type Overview struct {
	Mesh     string       `json:"mesh"`
	Sidecars inspect.Sync `json:"sidecars"`
	// Total is how many objects there are, of which Objects may be a part.
	Total   int      `json:"total"`
	Objects []Status `json:"objects"`
	Next    *string  `json:"next,omitempty"` // the address of the objects that follow
	// Unread is what cannot be read at all, so that its mesh is not known.
	Unread []Unread `json:"unread,omitempty"`
	// Notes say what is not known here, such as the sidecars of a replica that is silent.
	Notes []api.Note `json:"notes,omitempty"`
}

// StatusOf is the status of one policy, route, document about identities or place for telemetry, at a cost that follows what it
// is about; violations are as for OverviewOf.
func StatusOf(m *resolve.Reader, ref api.Ref, sidecars inspect.FindSidecar, violations ...*api.Violation) (Status, error) {
	o, ok := m.Snapshot().Get(ref)
	if !ok {
		return Status{}, inspect.NotFound(ref.Kind, ref.Name, inspect.NamesOf(m, ref))
	}
	if HasConditions(o) {
		s := ownStatus(m, o, sidecars, violations)
		s.refuse(refusalsOf(violations))
		return s, nil
	}
	s := statusOf(m, o, participations(m, ref.Mesh, []api.Ref{ref}, sidecars, false)[0], notes.LookAt(m))
	s.Notes = append(s.Notes, notes.Failures(m)...)
	s.refuse(refusalsOf(violations))
	s.inOwnForm(m, o)
	return s, nil
}

func statusOf(m *resolve.Reader, o *api.Object, x *participation, look notes.Look) Status {
	s := Status{Object: o.Ref.String(), Ref: o.Ref, Notes: m.NotesOn(o.Ref), Dataplanes: x.counts}
	found := notes.OfAttached(m, x.Impact, look)
	s.Notes = append(s.Notes, found...)
	s.place(look.Locator)
	accepted, resolved := verdicts(m, o, s.Notes)
	accepted.Dataplanes, resolved.Dataplanes = s.Dataplanes, s.Dataplanes
	var gate listening
	reported := notes.IsReported(m, o.Kind)
	if reported {
		gate = listeningOf(m, o.Ref, x.counts)
	}
	done := programmed(m, o, x, found, gate)
	done.targetless(accepted, s.Notes)
	done.partly(s.Notes)
	s.Conditions = []Condition{accepted, resolved, done}
	if reported && !gate.listens { // no Envoy gets it
		s.Conditions, s.Dataplanes = s.Conditions[:2], Counts{}
		s.Conditions[0].Dataplanes, s.Conditions[1].Dataplanes = Counts{}, Counts{}
	}
	return s
}
