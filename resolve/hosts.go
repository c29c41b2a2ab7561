package resolve

import (
	"cmp"
	"iter"
	"strconv"

	"github.com/weftmesh/weft/api"
)

// hostsOf yields the hosts that a route serves.
func hostsOf(r *routeObject) iter.Seq[*Destination] {
	return func(yield func(*Destination) bool) {
		for i := range r.opinion.Entries {
			to := r.opinion.Entries[i].To
			if to.Kind != api.KindHost || r.object.Shadow() {
				continue
			}
			port, _ := strconv.ParseUint(to.SectionName, 10, 16) // HostRef wrote it
			if !yield(hostDestination(to.Name, uint32(port))) {
				return
			}
		}
	}
}

// hostDestination is a host at a port (names: xds design 2). Nobody answers for
// it but the backends of its routes.
func hostDestination(name string, port uint32) *Destination {
	number := strconv.FormatUint(uint64(port), 10)
	return &Destination{ID: "host_" + name + ":" + number, Kind: api.KindHost, Name: name, Port: port, PortName: number,
		Protocol: api.HTTP, Hostnames: []string{name}}
}

// hostsAt is by which name all hosts at a port are found.
func hostsAt(port uint32) string { return "\x03hosts:" + strconv.FormatUint(uint64(port), 10) }

// hostCalls adds those to all hosts at the port that the outbound of an index names.
func (m mesh) hostCalls(o *api.Outbound, index int32, add func(call)) {
	for d := range m.destsNamed(hostsAt(o.Hosts.Port)) {
		add(call{address: cmp.Or(o.Address, "127.0.0.1"), port: o.Port, index: index, dest: d})
	}
}
