package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// Status is how an object fares (contract 6).
type Status struct {
	Object     string      `json:"object"`
	Ref        api.Ref     `json:"ref"`
	Conditions []Condition `json:"conditions"`
	Dataplanes Counts      `json:"dataplanes"`
	Notes      []api.Note  `json:"notes,omitempty"`
}

// Condition is one finding in Kubernetes' form.
type Condition struct {
	Type       string `json:"type"`
	Status     string `json:"status"` // True, False, Unknown
	Reason     string `json:"reason"`
	Message    string `json:"message"`
	Dataplanes Counts `json:"dataplanes"`
}

// Counts are numbers of dataplanes.
type Counts struct {
	Selected   int `json:"selected"`   // by the top-level targetRef
	Effective  int `json:"effective"`  // of them, where it takes part
	Connected  int `json:"connected"`  // of those, whose sidecar is connected
	Programmed int `json:"programmed"` // of those, whose Envoy has confirmed it
	Rejected   int `json:"rejected"`   // of those, whose Envoy refused it
}

// Sync is how far the sidecars of a mesh follow.
type Sync struct {
	Revision uint64    `json:"revision"`
	Total    int       `json:"total"`
	InSync   int       `json:"inSync"`
	Behind   []string  `json:"behind"`
	Refusing []Refuser `json:"refusing"`
	Absent   int       `json:"absent"` // not connected
	// Held are connected sidecars that something keeps from their configuration,
	// also those of a dataplane that does not exist.
	Held []Held `json:"held,omitempty"`
}

// Held is a sidecar that does not get its configuration, and why.
type Held struct {
	Dataplane string `json:"dataplane"`
	Message   string `json:"message"`
}

// Refuser is a dataplane whose Envoy did not take its configuration.
type Refuser struct {
	Dataplane string   `json:"dataplane"`
	Type      string   `json:"type"`
	Resources []string `json:"resources,omitempty"`
	Message   string   `json:"message"`
}

// Overview is the status of a mesh.
type Overview struct {
	Mesh     string   `json:"mesh"`
	Sidecars Sync     `json:"sidecars"`
	Objects  []Status `json:"objects"`
	// Unread is what cannot be read at all, so that its mesh is not known.
	Unread []Unread `json:"unread,omitempty"`
}

// MeshKnown is an error, with what comes near, where there is no such mesh.
func MeshKnown(m *resolve.Model, mesh string) error {
	ref := api.Ref{Kind: api.KindMesh, Name: mesh}
	if m.Snapshot().Has(ref) {
		return nil
	}
	return notFound("mesh", mesh, namesOf(m, ref))
}

// OverviewOf is the status of every policy and route of a mesh, of every other
// object of it that violations refuse, and of its sidecars. Violations are those
// of documents that are not served as they were written.
func OverviewOf(m *resolve.Model, mesh string, sidecars []Sidecar, violations ...*api.Violation) Overview {
	out := Overview{Mesh: mesh, Sidecars: syncOf(m, mesh, sidecars), Objects: []Status{}}
	u, acks, refused := usageOf(m, mesh), byRef(sidecars), refusalsOf(violations)
	for o := range m.Snapshot().All() {
		if o.Mesh == mesh && isAttachable(o) {
			s := statusOf(m, o, u, acks)
			s.refuse(refused)
			out.Objects = append(out.Objects, s)
		}
	}
	out.Objects = append(out.Objects, refused.strangers(m, mesh, out.Objects)...)
	slices.SortFunc(out.Objects, func(a, b Status) int { return a.Ref.Compare(b.Ref) })
	out.Unread = unread(violations)
	return out
}

// StatusOf is the status of one policy or route; violations are as for OverviewOf.
func StatusOf(m *resolve.Model, ref api.Ref, sidecars []Sidecar, violations ...*api.Violation) (Status, error) {
	o, ok := m.Snapshot().Get(ref)
	if !ok {
		return Status{}, notFound(ref.Kind, ref.Name, namesOf(m, ref))
	}
	s := statusOf(m, o, usageOf(m, ref.Mesh), byRef(sidecars))
	s.refuse(refusalsOf(violations))
	return s, nil
}

func namesOf(m *resolve.Model, ref api.Ref) []string {
	var have []string
	for o := range m.Snapshot().Of(ref.Kind, ref.Mesh) {
		have = append(have, o.Name)
	}
	return have
}

// isAttachable reports whether an object is a policy or a route.
func isAttachable(o *api.Object) bool {
	_, policy := o.Spec.(*policies.Spec)
	return policy || api.RouteKinds[o.Kind] || o.Kind == api.KindMeshTCPRoute
}

func byRef(sidecars []Sidecar) map[api.Ref]Sidecar {
	out := make(map[api.Ref]Sidecar, len(sidecars))
	for _, s := range sidecars {
		out[s.Dataplane] = s
	}
	return out
}

func syncOf(m *resolve.Model, mesh string, sidecars []Sidecar) Sync {
	s := Sync{Revision: m.Snapshot().Revision(), Behind: []string{}, Refusing: []Refuser{}}
	acks := byRef(sidecars)
	for r := range m.Dataplanes(mesh) {
		s.Total++
		c, ok := acks[r.Ref]
		switch {
		case !ok || !c.Connected:
			s.Absent++
		case c.Refusal != nil:
			s.Refusing = append(s.Refusing, Refuser{r.Ref.Name, c.Refusal.Type, c.Refusal.Resources, c.Refusal.Message})
		case c.InSync:
			s.InSync++
		default:
			s.Behind = append(s.Behind, r.Ref.Name)
		}
	}
	for _, c := range sidecars {
		if c.Dataplane.Mesh == mesh && c.held() {
			s.Held = append(s.Held, Held{c.Dataplane.Name, c.Note})
		}
	}
	slices.SortFunc(s.Held, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Dataplane, b.Dataplane), cmp.Compare(a.Message, b.Message))
	})
	return s
}

func statusOf(m *resolve.Model, o *api.Object, u *usage, acks map[api.Ref]Sidecar) Status {
	s := Status{Object: o.Ref.String(), Ref: o.Ref, Notes: append(m.NotesOn(o.Ref), u.notes[o.Ref]...)}
	s.Dataplanes = countsOf(m, o, u, acks)
	accepted, resolved := verdicts(m, o, s.Notes)
	accepted.Dataplanes, resolved.Dataplanes = s.Dataplanes, s.Dataplanes
	s.Conditions = []Condition{accepted, resolved, programmed(o, s.Dataplanes, u, acks)}
	return s
}

func countsOf(m *resolve.Model, o *api.Object, u *usage, acks map[api.Ref]Sidecar) Counts {
	c := Counts{Selected: len(m.Selected(o.Ref)), Effective: len(u.effective[o.Ref])}
	for _, dp := range u.effective[o.Ref] {
		x, ok := acks[dp]
		switch {
		case !ok || !x.Connected:
			continue
		case x.Refusal != nil:
			c.Rejected++
		case x.InSync:
			c.Programmed++
		}
		c.Connected++
	}
	return c
}

// dataplanesText counts in words.
func dataplanesText(selected int) string {
	if selected == 1 {
		return "the one selected dataplane"
	}
	return fmt.Sprintf("the %d selected dataplanes", selected)
}

// rejected is the code of what an Envoy would refuse, and so never gets.
const rejected = "Rejected"

func noteText(n api.Note) string {
	if n.Field == "" {
		return n.Message
	}
	return string(n.Field) + ": " + n.Message
}

// programmed says whether Envoys have what the object says.
func programmed(o *api.Object, n Counts, u *usage, acks map[api.Ref]Sidecar) Condition {
	c := Condition{Type: "Programmed", Status: "False", Reason: "Pending", Dataplanes: n}
	switch {
	case n.Selected == 0:
		c.Message = "it selects no dataplane"
	case n.Effective == 0:
		c.Message = "it takes part on none of " + dataplanesText(n.Selected)
	case n.Rejected > 0:
		c.Reason, c.Message = rejected, rejections(u.effective[o.Ref], acks)
	case withheld(u.notes[o.Ref]) != "":
		c.Reason, c.Message = rejected, withheld(u.notes[o.Ref])
	case overridden(o, u) != "":
		c.Reason, c.Message = "Overridden", overridden(o, u)
	case n.Connected == 0:
		c.Message = "no sidecar that it concerns is connected"
	case n.Programmed < n.Connected:
		c.Message = fmt.Sprintf("%d of %d sidecars have not confirmed it yet", n.Connected-n.Programmed, n.Connected)
	case n.Effective < n.Selected:
		c.Status, c.Reason = "True", "PartiallyProgrammed"
		c.Message = fmt.Sprintf("it takes part on %d of %d selected dataplanes", n.Effective, n.Selected)
	default:
		c.Status, c.Reason = "True", "Programmed"
	}
	return c
}

// withheld is the first that no Envoy gets of an object.
func withheld(notes []api.Note) string {
	if i := slices.IndexFunc(notes, func(n api.Note) bool { return n.Code == rejected }); i >= 0 {
		return noteText(notes[i])
	}
	return ""
}

func rejections(on []api.Ref, acks map[api.Ref]Sidecar) string {
	var texts []string
	for _, dp := range on {
		if r := acks[dp].Refusal; r != nil {
			texts = append(texts, dp.Name+": "+r.Message)
		}
	}
	if more := len(texts) - 3; more > 0 {
		texts = append(texts[:3], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// overridden says who stands in the place of all that the object says; it is
// empty where one of its values holds somewhere.
func overridden(o *api.Object, u *usage) string {
	var by []string
	for _, s := range u.parts[o.Ref] {
		if s.wins {
			return ""
		}
		for _, x := range s.losers {
			by = append(by, originText(x))
		}
	}
	slices.SortFunc(by, cmp.Compare)
	return "everything that it says is overridden by " + strings.Join(slices.Compact(by), ", ")
}
