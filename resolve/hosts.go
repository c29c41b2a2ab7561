package resolve

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// hostsOf yields the hosts that a route serves: that with an id, or all where it is empty.
func hostsOf(r *routeObject, id string) iter.Seq[*effective.Destination] {
	return func(yield func(*effective.Destination) bool) {
		for i := range r.opinion.Entries {
			to := r.opinion.Entries[i].To
			if to.Kind != api.KindHost || r.object.Shadow() || id != "" && !isHostID(id, to.Name, to.SectionName) {
				continue
			}
			port, _ := strconv.ParseUint(to.SectionName, 10, 16) // HostRef wrote it
			d := hostDestination(to.Name, uint32(port))
			if d.TLS = r.opinion.Entries[i].TLS; r.opinion.Connections {
				d.Protocol = api.TCP
			}
			if !yield(d) {
				return
			}
		}
	}
}

// claiming yields the routes whose claims on a host take part in a scope.
func (m indexMesh) claiming(id, scope string) iter.Seq[*routeObject] {
	return func(yield func(*routeObject) bool) {
		for _, r := range m.routesByHost.In(m.at, inScope(id, scope)) {
			if !yield(r) {
				return
			}
		}
		if scope == scopeAll || scope == scopeCommon {
			return
		}
		for _, r := range m.routesByHost.In(m.at, inScope(id, scopeCommon)) {
			if !yield(r) {
				return
			}
		}
	}
}

// hostDestination is a host at a port (names: spec/xds.md 2). Nobody answers for
// it but the backends of its routes.
func hostDestination(name string, port uint32) *effective.Destination {
	number := strconv.FormatUint(uint64(port), 10)
	return &effective.Destination{ID: hostID(name, number), Kind: api.KindHost, Name: name, Port: port, PortName: number,
		Protocol: api.HTTP, Hostnames: []string{name}}
}

// destsBelow yields the hosts below that of an entry which is for them too.
func (m servicesMesh) destsBelow(e *route.Entry) iter.Seq[*dest] {
	return func(yield func(*dest) bool) {
		if !e.Below {
			return
		}
		for d := range m.destsByAbove.Values(m.at, e.To.Name) {
			if matcher.Claims(e.To, &d.facts) && !yield(d) {
				return
			}
		}
	}
}

// wider are the contributions for all hosts below a name of which d is one, from the
// kind that is named the most exactly: those of an object with the same kind and Edges
// as one that names d itself.
func (m routingMesh) wider(d *dest, exact []*contribution) []*contribution {
	var out []*contribution
	for _, name := range d.HostsAbove() {
		for r := range m.routesByTarget.Values(m.at, name) {
			for i := range r.opinion.Entries {
				e := &r.opinion.Entries[i]
				if !e.Below || e.To.Name != name || e.To.Kind != api.KindHost || !matcher.Claims(e.To, &d.facts) || r.object.Shadow() || len(e.Rules) == 0 {
					continue
				}
				if slices.ContainsFunc(exact, func(c *contribution) bool { return c.route.kind == r.kind && c.entry.Edges == e.Edges }) {
					out = append(out, &contribution{route: r, entry: e, rank: r.rank.of(e.To, e.Index)})
				}
			}
		}
	}
	return out
}

func hostID(name, port string) string { return hostPrefix + name + ":" + port }

// hostPrefix begins the ids of hosts.
const hostPrefix = "host_"

// isHostID reports whether id is that of a host at a port. A route may have a thousand hosts,
// each of which asks all of them.
func isHostID(id, name, port string) bool {
	rest, ok := strings.CutPrefix(id, hostPrefix)
	rest, named := strings.CutPrefix(rest, name)
	return ok && named && rest == ":"+port
}

// hostsAt is by which name all hosts at a port are found that are seen in a scope.
func hostsAt(port uint32, scope string) string {
	return inScope("\x03hosts:"+strconv.FormatUint(uint64(port), 10), scope)
}

// hostCalls adds those to all hosts at the port that the outbound of an index names.
func (m reachabilityMesh) hostCalls(o *api.Outbound, index int32, scope string, add func(call)) {
	for d := range m.hostsSeen(o.Hosts.Port, scope) {
		if d.AtEdgesAlone() {
			continue
		}
		add(call{address: cmp.Or(o.Address, "127.0.0.1"), port: o.Port, index: index, dest: d})
	}
}
