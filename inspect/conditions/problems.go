package conditions

import (
	"cmp"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/resolve"
)

// ProblemOwner is an object, or a file, with everything that is wrong with it.
type ProblemOwner struct {
	Owner    string    `json:"owner"`
	Ref      *api.Ref  `json:"ref,omitempty"`
	Problems []Problem `json:"problems"`
}

// Problem is one thing that is wrong.
type Problem struct {
	Severity api.Severity `json:"severity"`
	Code     string       `json:"code"`
	Field    api.Path     `json:"field,omitempty"`
	Message  string       `json:"message"`
	File     string       `json:"file,omitempty"`
	Line     int          `json:"line,omitempty"`
	Column   int          `json:"column,omitempty"`
	// Dataplanes are those that it concerns, where it is about sidecars.
	Dataplanes []string `json:"dataplanes,omitempty"`
}

// ControlPlane is the owner of what is wrong with the control plane itself.
const ControlPlane = "control plane"

// Problems is everything that is wrong, grouped by who has to act: notes on
// objects, violations of documents that are not served as written, services
// for which nobody answers, sidecars that are gone and what Envoys refused, and
// what is wrong with what runs.
func Problems(m *resolve.Reader, sidecars []inspect.Sidecar, violations []*api.Violation, running ...OwnedProblem) []ProblemOwner {
	all := map[string]*ProblemOwner{}
	add := func(owner string, ref *api.Ref, p Problem) {
		if all[owner] == nil {
			all[owner] = &ProblemOwner{Owner: owner, Ref: ref}
		}
		all[owner].Problems = append(all[owner].Problems, p)
	}
	for _, list := range [][]OwnedProblem{resolve.Cached(m, problemsKey{}, func() []OwnedProblem { return notedIn(m) }), running} {
		for _, p := range list {
			add(p.Owner, p.Ref, p.Problem)
		}
	}
	for mesh := range m.MeshNames() {
		for _, u := range m.Unanswered(mesh) {
			p := Problem{Severity: api.Warning, Code: "NoEndpoints", Message: u.Why}
			if u.Object == nil {
				add(ServiceOwner(u.ID), nil, p)
				continue
			}
			add(u.Object.Ref.String(), &u.Object.Ref, p)
		}
	}
	for _, v := range violations {
		p := Problem{Severity: v.Severity, Code: v.Code, Field: v.Field, Message: v.Message}
		p.at(v.Position)
		if v.Object.Name == "" {
			add(v.File, nil, p)
		} else {
			add(v.Object.String(), &v.Object, p)
		}
	}
	for i := range sidecars {
		s := &sidecars[i]
		for _, p := range sidecarProblems(s, m) {
			add(s.Dataplane.String(), &s.Dataplane, p)
		}
	}
	out := make([]ProblemOwner, 0, len(all))
	for _, o := range all {
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b ProblemOwner) int { return cmp.Compare(a.Owner, b.Owner) })
	return out
}

// ServiceOwner is the owner of what is wrong with a service of which there is no object.
func ServiceOwner(id string) string { return "service " + id }

// OwnedProblem is a problem, and who has to act: an object, or else what Owner says.
type OwnedProblem struct {
	Owner string
	Ref   *api.Ref
	Problem
}

// OfRunning are the problems of notes about what runs, of which those without an origin are about the control
// plane itself.
func OfRunning(notes []api.Note) (out []OwnedProblem) {
	for _, n := range notes {
		out = append(out, ofNote(n))
	}
	return out
}

func ofNote(n api.Note) OwnedProblem {
	p := OwnedProblem{Owner: ControlPlane, Problem: Problem{Severity: n.Severity, Code: n.Code, Field: n.Field, Message: n.Message}}
	if n.Origin != nil {
		p.Owner, p.Ref = n.Origin.Ref.String(), &n.Origin.Ref
	}
	return p
}

type problemsKey struct{}

// notedIn are the problems that notes tell of, in the order of who has to act.
func notedIn(m *resolve.Reader) []OwnedProblem {
	var out []OwnedProblem
	places := notes.LocatorOf(m)
	for _, n := range notes.All(m) {
		if n.Severity == api.Info || n.Origin == nil {
			continue
		}
		p := ofNote(n)
		p.at(places.Of(n))
		out = append(out, p)
	}
	return out
}

// sidecarProblems are what is wrong with a sidecar.
func sidecarProblems(s *inspect.Sidecar, m *resolve.Reader) []Problem {
	if !s.Troubled() {
		return nil
	}
	var out []Problem
	say := func(code, message string) {
		out = append(out, Problem{Severity: api.Error, Code: code, Dataplanes: []string{s.Dataplane.FullName()}, Message: message})
	}
	if r := s.Refusal; r != nil {
		say("Rejected", "its Envoy refused "+r.Type+": "+r.Message)
	}
	if s.Withheld() {
		say("Held", "its sidecar does not get its configuration: "+s.Note)
	}
	if why := s.WaitsFor(m); why != "" {
		say("Unconfirmed", why)
		out[len(out)-1].Severity = api.Warning
	}
	switch {
	case !s.Missing:
	case s.Awaited:
		say("NotConnected", "its sidecar was connected before the control plane was started, and has not come back; look whether it runs, and at the end of its log")
	default:
		say("NotConnected", "its sidecar is not connected, since "+s.Until.UTC().Format(time.RFC3339)+": it gets no changes, if it runs at all; look whether it runs, and at the end of its log, or delete the Dataplane where it is gone for good")
	}
	return out
}

func (p *Problem) at(pos api.Position) { p.File, p.Line, p.Column = pos.File, pos.Line, pos.Column }
