package inspect

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// Part is what is told of a list.
type Part struct {
	Offset int
	Size   int      // 0 for all
	Name   string   // a part of the names
	Kinds  []string // empty for all
	Fares  Fares    // of objects
	// Brief leaves out what policies say of an explanation.
	Brief bool
	// Sees reports whether who asks is told of objects of a namespace; nil of one who is told of
	// all. What cannot be read is of no namespace, and told to nobody else.
	Sees func(namespace string) bool
}

func (p Part) sees(ref api.Ref) bool { return p.Sees == nil || p.Sees(ref.Namespace) }

// Fares chooses objects by how they fare.
type Fares string

// All that is asked for fares as it should, or does not; empty for both.
const (
	FaresWell  Fares = "fine"
	FaresBadly Fares = "problem"
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

// chosen are those of a list that are asked for, but for how they fare.
func (p Part) chosen(refs []api.Ref) []api.Ref {
	return slices.DeleteFunc(refs, func(r api.Ref) bool {
		return !p.sees(r) || !strings.Contains(r.FullName(), p.Name) || len(p.Kinds) > 0 && !slices.Contains(p.Kinds, r.Kind)
	})
}

// noteAll is for how many objects it is cheaper to find the notes on all of a mesh.
const noteAll = 500

// OverviewOf is the status of every policy, route and document about identities of a mesh, of every other
// object of it that violations refuse, and of its sidecars. Violations are those
// of documents that are not served as they were written.
func OverviewOf(m *resolve.Reader, mesh string, sidecars []Sidecar, violations ...*api.Violation) Overview {
	return OverviewPart(m, mesh, sidecars, Part{}, violations...)
}

// OverviewPart is OverviewOf with a part of the objects, in the order of their refs, at a cost
// that follows those, and how many sidecars there are.
func OverviewPart(m *resolve.Reader, mesh string, sidecars []Sidecar, part Part, violations ...*api.Violation) Overview {
	known := Listed(sidecars)
	return OverviewWith(m, mesh, syncOf(m, mesh, sidecars, known, part.sees), known, part, violations...)
}

// OverviewWith is OverviewPart where it is known how the sidecars follow that who asks is told
// of: its cost does not follow how many there are.
func OverviewWith(m *resolve.Reader, mesh string, sync Sync, known Known, part Part, violations ...*api.Violation) Overview {
	out := Overview{Mesh: mesh, Sidecars: sync}
	out.Sidecars.Uncertified = uncertified(m, mesh, part.sees)
	if part.Sees == nil {
		out.Unread = unread(violations)
	}
	refused := refusalsOf(violations)
	refs := make([]api.Ref, 0, m.CountAttachable(mesh, func(string) bool { return true }))
	for o := range m.Attachable(mesh) {
		refs = append(refs, o.Ref)
	}
	refs = append(refs, tellingIdentity(m, mesh)...)
	refs = append(refs, refused.others(mesh, refs)...)
	slices.SortFunc(refs, api.Ref.Compare)
	refs = part.chosen(refs)
	out.Total = len(refs)
	if part.Fares == "" {
		refs = paged(refs, part)
	}
	look := lookAt(m)
	if len(refs) > noteAll {
		m.AllNotes(mesh)
		look.limited = limitedOf(m, mesh)
	}
	attached := slices.DeleteFunc(slices.Clone(refs), func(r api.Ref) bool {
		o, ok := m.Snapshot().Get(r)
		return !ok || !isAttachable(m, o)
	})
	parts := participations(m, mesh, attached, known, false)
	out.Objects = make([]Status, 0, len(refs))
	for _, ref := range refs {
		o, ok := m.Snapshot().Get(ref)
		if ok && TellsIdentity(o) {
			s := identityStatus(m, o, known, violations)
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
		all := slices.DeleteFunc(out.Objects, func(s Status) bool { return (s.Wrong() != nil) != (part.Fares == FaresBadly) })
		out.Total, out.Objects = len(all), paged(all, part)
	}
	for _, n := range failures(m) {
		if !part.sees(n.Origin.Ref) {
			continue
		}
		out.Sidecars.Held = append(out.Sidecars.Held, Held{n.Origin.FullName(), n.Message})
	}
	return out
}
