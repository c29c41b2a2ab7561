package trafficpermission

import (
	"slices"

	"github.com/weftmesh/weft/route/match"
)

// Asks are all conditions that the entries ask of requests.
func (e *Effective) Asks() (out []match.Condition) {
	for _, list := range [][]*Entry{e.Permissions.Deny, e.Permissions.Allow} {
		for _, x := range list {
			for _, group := range x.holds.http {
				for _, c := range group {
					if !slices.ContainsFunc(out, c.Equal) {
						out = append(out, c)
					}
				}
			}
		}
	}
	return out
}
