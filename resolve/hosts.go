package resolve

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/weftmesh/weft/api"
)

// touchHosts marks the hosts that a route serves: they are there as long as a
// route serves them.
func (u *updater) touchHosts(r *routeObject) {
	for i := range r.opinion.Entries {
		if to := r.opinion.Entries[i].To; to.Kind == api.KindHost {
			u.hosts.add(to.Name)
		}
	}
}

// hostDestinations brings the destinations in line with the marked hosts.
func (u *updater) hostDestinations(dests *iradix.Txn[*dest], links *iradix.Txn[string]) {
	for _, name := range slices.Sorted(maps.Keys(u.hosts)) {
		ports := map[uint32]bool{}
		for r := range linkedObjects[*routeObject](u.mesh, routes, name) {
			for i := range r.opinion.Entries {
				if to := r.opinion.Entries[i].To; to.Kind == api.KindHost && to.Name == name && !r.object.Shadow() {
					port, _ := strconv.ParseUint(to.SectionName, 10, 16) // HostRef wrote it
					ports[uint32(port)] = true
				}
			}
		}
		for d := range u.mesh.destsNamed(name) {
			if d.Kind == api.KindHost && !ports[d.Port] {
				u.drop(dests, links, d.ID)
			}
		}
		for _, port := range slices.Sorted(maps.Keys(ports)) {
			u.put(dests, links, hostDestination(name, port), nil, membersOf(nil))
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

// hostsAt is under which name the callers of all hosts at a port are linked.
func hostsAt(port uint32) string { return "\x03hosts:" + strconv.FormatUint(uint64(port), 10) }

// hostCalls adds those to all hosts at the port that the outbound of an index names.
func (t *tabler) hostCalls(o *api.Outbound, index int32, add func(call)) {
	c := call{address: cmp.Or(o.Address, "127.0.0.1"), port: o.Port, index: index, name: hostsAt(o.Hosts.Port)}
	add(c) // which leads nowhere, and is there so that hosts to come are found
	for d := range t.mesh.destsNamed(c.name) {
		c.dest = d
		add(c)
	}
}
