package resolve

import (
	"cmp"

	"github.com/weftmesh/weft/api"
)

// hostCalls adds those to all hosts at the port that the outbound of an index names.
func (m reachabilityMesh) hostCalls(o *api.Outbound, index int32, scope string, add func(call)) {
	for d := range m.HostsSeen(o.Hosts.Port, scope) {
		if d.AtEdgesAlone() {
			continue
		}
		add(call{address: cmp.Or(o.Address, "127.0.0.1"), port: o.Port, index: index, dest: d})
	}
}
