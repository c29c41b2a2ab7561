package conditions

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
)

// nameNotes says which names a service does not get.
func nameNotes(x Mesh, s *index.Service) []api.Note {
	n, _ := x.Namings.Get(x.At, index.ObjectKey(s.Object.Ref))
	if n == nil {
		return nil
	}
	var notes []api.Note
	for i := range n.Claims {
		c := &n.Claims[i]
		if reason, why := x.LostClaim(s, c); reason != "" {
			notes = append(notes, api.Notef(&api.Origin{Ref: s.Object.Ref}, api.Warning, reason, "", "%s gives it no name: %s", c.By.Object.Ref, why))
		}
	}
	return notes
}
