package conditions

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// unresolvedRefs are the codes of a reference that leads nowhere, other than a target.
var unresolvedRefs = []string{"BackendNotFound", "PortRequired", "UnsupportedProtocol", "RefNotPermitted", "InvalidKind"}

// unresolvedTarget reports whether n is about an entry whose destination is not there:
// the other entries hold all the same, so it is a warning.
func unresolvedTarget(n api.Note) bool { return n.Code == "TargetNotFound" && n.Severity != api.Error }

// verdicts are the conditions that follow from the notes on an object. One whose
// every entry has lost its destination says nothing at all: it is not accepted.
func verdicts(m *resolve.Reader, o *api.Object, found []api.Note) (accepted, resolved Condition) {
	accepted = Condition{Type: "Accepted", Status: "True", Reason: "Accepted"}
	resolved = Condition{Type: "ResolvedRefs", Status: "True", Reason: "ResolvedRefs"}
	lost := map[api.Path]bool{}
	for _, n := range found {
		switch {
		case unresolvedTarget(n):
			lost[n.Field] = true
			resolved.fails(n)
		case slices.Contains(unresolvedRefs, n.Code):
			resolved.fails(n)
		case n.Severity == api.Error && n.Code != notes.CodeRejected && n.Code != notes.CodeFailed:
			accepted.fails(n)
		case n.Code == "NoEndpoints":
			resolved.warns(n)
		case n.Code == "SelectsNothing":
			accepted.warns(n)
		}
	}
	if len(lost) > 0 && len(lost) == entries(m, o) {
		accepted.fails(found[slices.IndexFunc(found, unresolvedTarget)])
	}
	if o.Shadow() && accepted.Status == "True" {
		accepted.Message = "label kuma.io/effect: shadow keeps it out of the real configuration"
	}
	return accepted, resolved
}

// fails makes the condition False for the reason of n, unless it is already.
func (c *Condition) fails(n api.Note) {
	if c.Status == "True" {
		c.Status, c.Reason, c.Message, c.Source = "False", n.Code, terminal.NoteText(n), n.Position.String()
	}
}

// warns lets the condition stand with the message of n, unless it has one.
func (c *Condition) warns(n api.Note) {
	if c.Status == "True" && c.Message == "" {
		c.Message = n.Code + ": " + terminal.NoteText(n)
	}
}

// targetless says of an object that is attached nowhere because what it targets is
// not there that it waits for no sidecar.
func (c *Condition) targetless(accepted Condition, notes []api.Note) {
	if c.Reason != "Pending" || c.Dataplanes.Effective > 0 {
		return
	}
	if accepted.Reason == "TargetNotFound" {
		c.Reason, c.Message = api.CodeNoEffect, accepted.Message
	} else if i := slices.IndexFunc(notes, func(n api.Note) bool { return n.Code == "SelectsNothing" || n.Code == api.CodeNoEffect }); i >= 0 {
		c.Reason, c.Message = api.CodeNoEffect, terminal.NoteText(notes[i])
	}
}

// partly says of an object that acts which of its places others have.
func (c *Condition) partly(notes []api.Note) {
	if c.Status != "True" || c.Reason != "Programmed" {
		return
	}
	var lost []string
	for _, n := range notes {
		if n.Code == api.CodeConflicted && n.Severity == api.Warning {
			lost = append(lost, terminal.NoteText(n))
		}
	}
	if len(lost) > 0 {
		c.Reason, c.Message = "PartiallyProgrammed", strings.Join(lost, "; ")
	}
}

// entries counts what an object is about.
func entries(m *resolve.Reader, o *api.Object) int {
	if spec, ok := o.Spec.(*policies.Spec); ok {
		if spec.Whole() != nil {
			return 1
		}
		return len(spec.To) + len(spec.From) + len(spec.Rules)
	}
	if parsed, ok := m.Route(o.Ref); ok {
		return len(parsed.Entries)
	}
	return 0
}
