package conditions

import (
	"cmp"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/impact"
)

// ObjectExplanation is where one policy or route takes part, and where not.
type ObjectExplanation struct {
	Object  string   `json:"object"`
	Ref     api.Ref  `json:"ref"`
	Targets []Target `json:"targets"`
	// Dataplanes are those where it takes part; Missing those that it selects and
	// where it does not.
	Dataplanes []string    `json:"dataplanes"`
	Missing    []string    `json:"missing"`
	Counts     Counts      `json:"counts"`
	Conditions []Condition `json:"conditions"`
	Notes      []api.Note  `json:"notes"`
	Own        any         `json:"own,omitempty"` // the status in the form of the route's language
}

// Target is one entry of an object and how it fares.
type Target struct {
	Field api.Path `json:"field"`
	Text  string   `json:"text"` // what it is about, in words
	State string   `json:"state"`
	// By are those who stand in its place where it is shadowed.
	By     []*api.Origin `json:"by,omitempty"`
	Reason string        `json:"reason,omitempty"`
	// Superseded are the lists of a rule that gave way, while the rest of it holds.
	Superseded []SupersededPart `json:"lost,omitempty"`
}

// SupersededPart is a list of a rule that has no effect, for another's holds.
type SupersededPart struct {
	What string      `json:"what"` // filters or backends
	By   *api.Origin `json:"by"`
}

// The states of a target: something of it holds; it is overridden everywhere;
// what it names is not there; no dataplane has what it is about; or nothing that
// it says has an effect there.
const (
	Found    = "found"
	Shadowed = "shadowed"
	Missing  = "missing"
	Unused   = "unused"
	Idle     = "without effect"
)

// ExplainObject says where a policy or route takes part; violations are as for
// OverviewOf.
func ExplainObject(m *resolve.Reader, ref api.Ref, sidecars inspect.FindSidecar, violations ...*api.Violation) (ObjectExplanation, error) {
	o, ok := m.Snapshot().Get(ref)
	if !ok {
		return ObjectExplanation{}, inspect.NotFound(ref.Kind, ref.Name, inspect.NamesOf(m, ref))
	}
	x := participations(m, ref.Mesh, []api.Ref{ref}, sidecars, true)[0]
	s := statusOf(m, o, x, notes.LookAt(m))
	s.Notes = append(s.Notes, notes.Failures(m)...)
	s.refuse(refusalsOf(violations))
	s.inOwnForm(m, o)
	e := ObjectExplanation{Object: s.Object, Ref: ref, Targets: []Target{}, Dataplanes: inspect.RefNames(x.on), Missing: inspect.RefNames(x.missing),
		Counts: s.Dataplanes, Conditions: s.Conditions, Notes: append([]api.Note{}, s.Notes...), Own: s.Own}
	for _, t := range entriesOf(m, o) {
		t.setState(x.Entry(t.Field), s.Notes, cmp.Or(x.why(m, t.Field), "no selected dataplane calls that"))
		e.Targets = append(e.Targets, t)
	}
	return e, nil
}

// entriesOf lists the entries of a policy or route as written.
func entriesOf(m *resolve.Reader, o *api.Object) []Target {
	var out []Target
	if spec, ok := o.Spec.(*policies.Spec); ok {
		top := spec.Top()
		if spec.Whole() != nil {
			out = append(out, Target{Field: policies.Whole, Text: "for " + notes.TopText(top)})
		}
		for i := range spec.To {
			out = append(out, Target{Field: api.Path("spec.to").Index(i), Text: notes.TopText(top) + " to " + inspect.RefText(spec.To[i].TargetRef)})
		}
		for i := range spec.From {
			out = append(out, Target{Field: api.Path("spec.from").Index(i), Text: "into " + notes.TopText(top) + " from " + inspect.RefText(spec.From[i].TargetRef)})
		}
		for i := range spec.Rules {
			out = append(out, Target{Field: api.Path("spec.rules").Index(i), Text: "into " + notes.TopText(top)})
		}
		return out
	}
	parsed, ok := m.Route(o.Ref)
	if !ok {
		return nil
	}
	for n := range parsed.Entries {
		e := &parsed.Entries[n]
		owners := m.Owners(o.Ref, e)
		for i := range e.Rules {
			if e.Rules[i].Origin.Ref != o.Ref {
				continue
			}
			out = append(out, Target{Field: e.Rules[i].Origin.Field, By: owners, Text: "to " + inspect.RefText(e.To) + ", " + terminal.MatchesText(e.Rules[i].Matches)})
		}
	}
	return out
}

// isOf reports whether a note at field, a targetRef of to, is about the entry: it
// stands in the entry of a policy, and a rule of a route stands in the entry.
func (t *Target) isOf(field api.Path) bool {
	entry, ok := strings.CutSuffix(string(field), ".targetRef")
	own, _, _ := strings.Cut(string(t.Field), ".rules")
	return ok && (entry == string(t.Field) || entry == own)
}

// setState sets the state of the entry; why, in case that it is attached nowhere. A note
// stands on the entry or on the object's top-level targetRef.
func (t *Target) setState(e *impact.EntryEffect, notes []api.Note, why string) {
	t.State = Unused
	for _, n := range notes {
		if n.Field != "spec.targetRef" && !t.isOf(n.Field) {
			continue
		}
		switch n.Code {
		case "TargetNotFound":
			t.State, t.Reason = Missing, n.Message
		case "SelectsNothing", api.CodeNoEffect:
			why = n.Message
		}
	}
	switch {
	case len(t.By) > 0: // others own what it is about; elsewhere the same rule may hold
		t.State, t.Reason = Shadowed, ""
	case e == nil:
		if t.State == Unused {
			t.Reason = why
		}
	case e.Acts != 0:
		t.State, t.Reason = Found, ""
		filters, action := e.SupersededParts()
		if filters != nil {
			t.Superseded = append(t.Superseded, SupersededPart{explain.SupersededFilters, filters})
		}
		if action != nil {
			t.Superseded = append(t.Superseded, SupersededPart{explain.SupersededBackends, action})
		}
	case len(e.By) > 0:
		t.State, t.By, t.Reason = Shadowed, e.By, ""
	default:
		t.State, t.Reason = Idle, e.Why
	}
}
