package web

import (
	"net/http"

	"github.com/weftmesh/weft/inspect/web/changes"
	"github.com/weftmesh/weft/inspect/web/rights"
)

// How much of bodies is held at once: of each user of a cluster and of others who may only ask, of all
// of those, and of administrators.
const (
	mostHeldOfMember = 2 * changes.MaxBody
	mostHeldOfAll    = 16 << 20
	mostHeld         = 2 * changes.MaxApply
)

// admitted answers a request by next, within the bounds that hold for who sends it.
func (s *server) admitted(w http.ResponseWriter, r *http.Request, u rights.User, next http.Handler) {
	if !u.Bounded() {
		s.intake.Serve("", w, r, next)
		return
	}
	s.members.Serve(u.Name, w, r, next)
}
