package conditions

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/resolve"
)

// Wrong is the first condition of an object that does not hold; nil where all do.
func (s *Status) Wrong() *Condition {
	for i := range s.Conditions {
		if s.Conditions[i].Status != "True" {
			return &s.Conditions[i]
		}
	}
	return nil
}

// noteAll is for how many objects it is cheaper to find the notes on all of a mesh.
const noteAll = 500

// OverviewOf is the status of every policy, route and document about identities of a mesh, of every other
// object of it that violations refuse, and of its sidecars. Violations are those
// of documents that are not served as they were written.
func OverviewOf(m *resolve.Reader, mesh string, sidecars []inspect.Sidecar, violations ...*api.Violation) Overview {
	return OverviewPart(m, mesh, sidecars, inspect.ListOptions{}, violations...)
}

// OverviewPart is OverviewOf with a part of the objects, in the order of their refs, at a cost
// that follows those, and how many sidecars there are.
func OverviewPart(m *resolve.Reader, mesh string, sidecars []inspect.Sidecar, part inspect.ListOptions, violations ...*api.Violation) Overview {
	known := inspect.Listed(sidecars)
	return OverviewWith(m, mesh, inspect.SyncSeen(m, mesh, sidecars, known, part.TellsOf), known, part, violations...)
}

// OverviewWith is OverviewPart where it is known how the sidecars follow that who asks is told
// of: its cost does not follow how many there are.
func OverviewWith(m *resolve.Reader, mesh string, sync inspect.Sync, known inspect.FindSidecar, part inspect.ListOptions, violations ...*api.Violation) Overview {
	out := Overview{Mesh: mesh, Sidecars: sync}
	out.Sidecars.Uncertified = uncertified(m, mesh, part.TellsOf)
	if part.Sees == nil {
		out.Unread = unread(violations)
	}
	refused := refusalsOf(violations)
	refs := make([]api.Ref, 0, m.CountAttachable(mesh, func(string) bool { return true }))
	for o := range m.Attachable(mesh) {
		refs = append(refs, o.Ref)
	}
	refs = append(refs, tellingIdentity(m, mesh)...)
	for o := range m.Snapshot().Of(api.KindMeshOpenTelemetryBackend, mesh) {
		refs = append(refs, o.Ref)
	}
	refs = append(refs, refused.others(mesh, refs)...)
	slices.SortFunc(refs, api.Ref.Compare)
	refs = part.Chosen(refs)
	out.Total = len(refs)
	if part.Fares == "" {
		refs = inspect.Paged(refs, part)
	}
	look := notes.LookAt(m)
	if len(refs) > noteAll {
		m.AllNotes(mesh)
		look.Limited = notes.LimitedOf(m, mesh)
	}
	attached := slices.DeleteFunc(slices.Clone(refs), func(r api.Ref) bool {
		o, ok := m.Snapshot().Get(r)
		return !ok || !notes.IsAttachable(m, o)
	})
	parts := participations(m, mesh, attached, known, false)
	out.Objects = make([]Status, 0, len(refs))
	for _, ref := range refs {
		o, ok := m.Snapshot().Get(ref)
		if ok && HasConditions(o) {
			s := ownStatus(m, o, known, violations)
			s.refuse(refused)
			out.Objects = append(out.Objects, s)
			continue
		}
		if len(attached) == 0 || attached[0] != ref {
			c, _ := refused.condition(ref, ok)
			out.Objects = append(out.Objects, Status{Object: ref.String(), Ref: ref, Conditions: []Condition{c}})
			continue
		}
		s := statusOf(m, o, parts[0], look)
		attached, parts = attached[1:], parts[1:]
		s.refuse(refused)
		s.inOwnForm(m, o)
		out.Objects = append(out.Objects, s)
	}
	if part.Fares != "" {
		all := slices.DeleteFunc(out.Objects, func(s Status) bool { return (s.Wrong() != nil) != (part.Fares == inspect.FaresBadly) })
		out.Total, out.Objects = len(all), inspect.Paged(all, part)
	}
	for _, n := range notes.Failures(m) {
		if !part.TellsOf(n.Origin.Ref) {
			continue
		}
		out.Sidecars.Withheld = append(out.Sidecars.Withheld, inspect.Withheld{Dataplane: n.Origin.FullName(), Message: n.Message})
	}
	return out
}
