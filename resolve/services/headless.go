package services

import (
	"github.com/weftmesh/weft/resolve/effective"
)

// instanceMembers is the pod that a destination is, ready or not: who calls its address
// means it.
func (m Mesh) instanceMembers(d *effective.Destination) *Members {
	var a answers
	for _, ip := range d.VIPs {
		m.addAnswer(&a, ip, d.Port, "")
	}
	return a.members()
}
