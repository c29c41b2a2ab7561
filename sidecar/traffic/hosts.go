package traffic

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/requests"
)

// Bounds of what a message tells of hosts, the names of their clusters with them: slots have the rest of it. And of
// the clusters of a stream.
const (
	mostHosts     = 16
	mostHostBytes = 448
	mostClusters  = 256
)

// hosts tells where attempts failed in the interval, the most first, as far as there is room, and returns by how much
// the message has grown. What has none is told to nobody: the interval after it has failures of its own.
func (m *Meter) hosts(out *attach.Traffic, failed map[requests.HostKey]*requests.HostTally) (grown int) {
	for _, key := range slices.SortedFunc(maps.Keys(failed), func(a, b requests.HostKey) int {
		return cmp.Or(cmp.Compare(failed[b].All(), failed[a].All()), cmp.Compare(a.Cluster, b.Cluster), a.Host.Compare(b.Host))
	}) {
		if len(out.Hosts) == mostHosts {
			return grown
		}
		h := hostMessage(key, failed[key])
		number, told := m.clusters[key.Cluster]
		switch {
		case !told && len(m.clusters) == mostClusters:
			continue
		case !told:
			number = uint32(len(m.clusters)) + 1
			h.Name = key.Cluster
		}
		h.Cluster = number
		if size := sizeOf(h); grown+size <= mostHostBytes {
			m.clusters[key.Cluster] = number
			out.Hosts = append(out.Hosts, h)
			grown += size
		}
	}
	return grown
}

func hostMessage(key requests.HostKey, t *requests.HostTally) *attach.Host {
	return &attach.Host{Address: binary.BigEndian.AppendUint16(key.Host.Addr().AsSlice(), key.Host.Port()),
		Refused: rounded(t.Refused), Closed: rounded(t.Closed), Timeouts: rounded(t.Timeouts), Errors: rounded(t.Errors), Lines: t.Lines}
}
