package resolve

import (
	"github.com/weftmesh/weft/resolve/services"
)

// text is the reason for people, with the names that the writer may have meant.
func lostText(l *services.LostRef, m mesh) string {
	if l.Absent == nil {
		return l.Message
	}
	return l.Message + suggestion(m, *l.Absent)
}
