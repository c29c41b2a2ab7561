package conditions

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/hostnames"
	"github.com/weftmesh/weft/resolve/index"
)

// vipNotes says which addresses in the status of a service are those of another.
func vipNotes(x Mesh, s *index.Service) []api.Note {
	var notes []api.Note
	origin := &api.Origin{Ref: s.Object.Ref}
	if !s.Virtual() {
		return nil
	}
	given := x.GivenTo(s)
	for a := range s.StoredVIPs() {
		if h := x.HolderOf(a); h != s {
			instead := ""
			if own := x.VIPsOf(s); len(own) > 0 {
				instead = ", and this one is called at " + own[0] + " instead"
			}
			notes = append(notes, api.Notef(origin, api.Warning, hostnames.DuplicateVIP, "status.vips", "%s is the address of %s already, which is older%s", a, h.Object.Ref, instead))
		}
	}
	if q, _ := x.VIPRequests.Get(x.At, index.ObjectKey(s.Object.Ref)); q != nil && !given.IsValid() {
		notes = append(notes, api.Notef(origin, api.Error, hostnames.NoVIP, "status.vips", "every address that it could be given is taken, so it has none; write one into its status"))
	}
	return notes
}

// nameNotes says which names a service does not get.
func nameNotes(x Mesh, s *index.Service) []api.Note {
	n, _ := x.Namings.Get(x.At, index.ObjectKey(s.Object.Ref))
	if n == nil {
		return nil
	}
	var notes []api.Note
	for i := range n.Claims {
		c := &n.Claims[i]
		if reason, why := x.Conflict(s, c); reason != "" {
			notes = append(notes, api.Notef(&api.Origin{Ref: s.Object.Ref}, api.Warning, reason, "", "%s gives it no name: %s", c.By.Object.Ref, why))
		}
	}
	return notes
}
