package inspect

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

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
	f := route.Findings{Object: o, Notes: s.Notes, See: m.See(o.Mesh), Edges: m.EdgesOf(o.Ref)}
	if r, ok := m.Route(o.Ref); ok {
		f.Entries = r.Entries
	}
	for _, c := range s.Conditions {
		f.Verdicts = append(f.Verdicts, route.Verdict{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
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

// Sync is how far the sidecars of a mesh follow.
type Sync struct {
	Revision uint64   `json:"revision"`
	Total    int      `json:"total"`
	InSync   int      `json:"inSync"`
	Behind   []string `json:"behind"`
	// Unconfirmed are those of them, of many the first, whose Envoys have had for longer than Envoys
	// take what they have neither confirmed nor refused.
	Unconfirmed []UnconfirmedBy `json:"unconfirmed,omitempty"`
	Refusing    []Refuser       `json:"refusing"`
	Absent      int             `json:"absent"`            // not connected
	Missing     []string        `json:"missing,omitempty"` // those, by name
	// Awaited are those of them that were connected before the control plane was
	// started anew, and are expected back.
	Awaited []string `json:"awaited,omitempty"`
	// Held are connected sidecars that something keeps from their configuration,
	// also those of a dataplane that does not exist, and dataplanes of which a bug
	// in weft keeps something from being told.
	Held []Held `json:"held,omitempty"`
	// Uncertified are dataplanes that get no certificate though they have an identity.
	Uncertified []Uncertified `json:"uncertified,omitempty"`
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
	Mesh     string `json:"mesh"`
	Sidecars Sync   `json:"sidecars"`
	// Total is how many objects there are, of which Objects may be a part.
	Total   int      `json:"total"`
	Objects []Status `json:"objects"`
	Next    *string  `json:"next,omitempty"` // the address of the objects that follow
	// Unread is what cannot be read at all, so that its mesh is not known.
	Unread []Unread `json:"unread,omitempty"`
	// Notes say what is not known here, such as the sidecars of a replica that is silent.
	Notes []api.Note `json:"notes,omitempty"`
}

// MeshKnown is an error, with what comes near, where there is no such mesh.
func MeshKnown(m *resolve.Reader, mesh string) error {
	ref := api.Ref{Kind: api.KindMesh, Name: mesh}
	if m.Snapshot().Has(ref) {
		return nil
	}
	return NotFound("mesh", mesh, NamesOf(m, ref))
}

// StatusOf is the status of one policy, route or document about identities, at a cost that follows what it
// is about; violations are as for OverviewOf.
func StatusOf(m *resolve.Reader, ref api.Ref, sidecars Known, violations ...*api.Violation) (Status, error) {
	o, ok := m.Snapshot().Get(ref)
	if !ok {
		return Status{}, NotFound(ref.Kind, ref.Name, NamesOf(m, ref))
	}
	if TellsIdentity(o) {
		s := identityStatus(m, o, sidecars, violations)
		s.refuse(refusalsOf(violations))
		return s, nil
	}
	s := statusOf(m, o, participations(m, ref.Mesh, []api.Ref{ref}, sidecars, false)[0], lookAt(m))
	s.Notes = append(s.Notes, failures(m)...)
	s.refuse(refusalsOf(violations))
	s.inOwnForm(m, o)
	return s, nil
}

// NamesOf are the names of the objects of a kind in a mesh, as people write them.
func NamesOf(m *resolve.Reader, ref api.Ref) []string {
	var have []string
	for o := range m.Snapshot().Of(ref.Kind, ref.Mesh) {
		if o.Namespace != "" {
			have = append(have, o.Namespace+"/"+o.Name)
			continue
		}
		have = append(have, o.Name)
	}
	return have
}

// isAttachable reports whether an object is a policy or a route.
func isAttachable(m *resolve.Reader, o *api.Object) bool {
	_, policy := o.Spec.(*policies.Spec)
	return policy || m.IsRoute(o.Kind)
}

// SyncOf is how far the sidecars of a mesh follow.
func SyncOf(m *resolve.Reader, mesh string, sidecars []Sidecar) Sync {
	return syncOf(m, mesh, sidecars, Listed(sidecars), func(api.Ref) bool { return true })
}

func syncOf(m *resolve.Reader, mesh string, sidecars []Sidecar, known Known, sees func(api.Ref) bool) Sync {
	s := Sync{Revision: m.Snapshot().Revision(), Behind: []string{}, Refusing: []Refuser{}}
	var behind []api.Ref
	for r := range m.Dataplanes(mesh) {
		if !sees(r.Ref) {
			continue
		}
		s.Total++
		c, ok := known(r.Ref)
		switch {
		case !ok || !c.Connected:
			s.Absent++
			s.Missing = append(s.Missing, r.Ref.FullName())
			if ok && c.Awaited {
				s.Awaited = append(s.Awaited, r.Ref.FullName())
			}
		case c.Refusal != nil:
			s.Refusing = append(s.Refusing, Refuser{r.Ref.FullName(), c.Refusal.Type, c.Refusal.Resources, c.Refusal.Message})
		case c.InSync:
			s.InSync++
		default:
			s.Behind = append(s.Behind, r.Ref.FullName())
			behind = append(behind, r.Ref)
		}
	}
	s.Unconfirmed = waiting(m, behind, known)
	s.Held = heldIn(mesh, sidecars, sees)
	return s
}

// heldIn are those of sidecars that are held in a mesh, as far as who asks sees them.
func heldIn(mesh string, sidecars []Sidecar, sees func(api.Ref) bool) (out []Held) {
	for i := range sidecars {
		if c := &sidecars[i]; c.Dataplane.Mesh == mesh && c.held() && sees(c.Dataplane) {
			out = append(out, Held{c.Dataplane.FullName(), c.Note})
		}
	}
	slices.SortFunc(out, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Dataplane, b.Dataplane), cmp.Compare(a.Message, b.Message))
	})
	return out
}

func statusOf(m *resolve.Reader, o *api.Object, x *participation, look look) Status {
	s := Status{Object: o.Ref.String(), Ref: o.Ref, Notes: m.NotesOn(o.Ref), Dataplanes: x.counts}
	found := notesOf(m, x.Reach, look)
	s.Notes = append(s.Notes, found...)
	s.place(look.places)
	accepted, resolved := verdicts(m, o, s.Notes)
	accepted.Dataplanes, resolved.Dataplanes = s.Dataplanes, s.Dataplanes
	var gate listening
	reported := beside(m, o.Kind)
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

// rejected is the code of what an Envoy would refuse, and so never gets.
const rejected = "Rejected"

func noteText(n api.Note) string {
	if n.Field == "" {
		return n.Message
	}
	return string(n.Field) + ": " + n.Message
}
