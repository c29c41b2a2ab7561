package sim

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// askedHost is the outbound to the host that a request asks for, of those at the
// address of o; nil where none fits: then the proxy has no route. A name goes
// before what stands for all names below another one, and the longer of those first.
func askedHost(r *resolve.Resolved, o *resolve.Outbound, authority string) *resolve.Outbound {
	host, _, _ := cutPort(authority)
	host = strings.ToLower(host)
	var found *resolve.Outbound
	for _, x := range r.Outbounds {
		if x.Address != o.Address || x.Port != o.Port || !api.HostCovers(x.Destination.Name, host) {
			continue
		}
		if x.Destination.Name == host {
			return x
		}
		if found == nil || len(x.Destination.Name) > len(found.Destination.Name) {
			found = x
		}
	}
	return found
}
