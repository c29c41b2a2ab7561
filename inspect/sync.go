package inspect

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

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
	// Withheld are connected sidecars that something keeps from their configuration,
	// also those of a dataplane that does not exist, and dataplanes of which a bug
	// in weft keeps something from being told.
	Withheld []Withheld `json:"held,omitempty"`
	// Uncertified are dataplanes that get no certificate though they have an identity.
	Uncertified []Uncertified `json:"uncertified,omitempty"`
}

// Withheld is a sidecar that does not get its configuration, and why.
type Withheld struct {
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

// SyncOf is how far the sidecars of a mesh follow.
func SyncOf(m *resolve.Reader, mesh string, sidecars []Sidecar) Sync {
	return SyncSeen(m, mesh, sidecars, Listed(sidecars), func(api.Ref) bool { return true })
}

// SyncSeen is SyncOf of those dataplanes that who asks sees.
func SyncSeen(m *resolve.Reader, mesh string, sidecars []Sidecar, known FindSidecar, sees func(api.Ref) bool) Sync {
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
	s.Withheld = heldIn(mesh, sidecars, sees)
	return s
}

// heldIn are those of sidecars that are held in a mesh, as far as who asks sees them.
func heldIn(mesh string, sidecars []Sidecar, sees func(api.Ref) bool) (out []Withheld) {
	for i := range sidecars {
		if c := &sidecars[i]; c.Dataplane.Mesh == mesh && c.Withheld() && sees(c.Dataplane) {
			out = append(out, Withheld{c.Dataplane.FullName(), c.Note})
		}
	}
	slices.SortFunc(out, func(a, b Withheld) int {
		return cmp.Or(cmp.Compare(a.Dataplane, b.Dataplane), cmp.Compare(a.Message, b.Message))
	})
	return out
}
