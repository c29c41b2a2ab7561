package index

import (
	"iter"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// HostsOf yields the hosts that a route serves: that with an id, or all where it is empty.
func HostsOf(r *Route, id string) iter.Seq[*effective.Destination] {
	return func(yield func(*effective.Destination) bool) {
		for i := range r.Parsed.Entries {
			to := r.Parsed.Entries[i].To
			if to.Kind != api.KindHost || r.Object.Shadow() || id != "" && !isHostID(id, to.Name, to.SectionName) {
				continue
			}
			port, _ := strconv.ParseUint(to.SectionName, 10, 16) // HostRef wrote it
			d := hostDestination(to.Name, uint32(port))
			if d.TLS = r.Parsed.Entries[i].TLS; r.Parsed.Connections {
				d.Protocol = api.TCP
			}
			if !yield(d) {
				return
			}
		}
	}
}

// Claiming yields the routes whose claims on a host take part in a scope.
func (m Mesh) Claiming(id, scope string) iter.Seq[*Route] {
	return func(yield func(*Route) bool) {
		for _, r := range m.RoutesByHost.In(m.At, InScope(id, scope)) {
			if !yield(r) {
				return
			}
		}
		if scope == ScopeAll || scope == ScopeCommon {
			return
		}
		for _, r := range m.RoutesByHost.In(m.At, InScope(id, ScopeCommon)) {
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
	return &effective.Destination{ID: HostID(name, number), Kind: api.KindHost, Name: name, Port: port, PortName: number,
		Protocol: api.HTTP, Hostnames: []string{name}}
}

// HostID is the id of the destination of a host at a port.
func HostID(name, port string) string { return hostPrefix + name + ":" + port }

// hostPrefix begins the ids of hosts.
const hostPrefix = "host_"

// isHostID reports whether id is that of a host at a port. A route may have a thousand hosts,
// each of which asks all of them.
func isHostID(id, name, port string) bool {
	rest, ok := strings.CutPrefix(id, hostPrefix)
	rest, named := strings.CutPrefix(rest, name)
	return ok && named && rest == ":"+port
}

// HostsAt is by which name all hosts at a port are found that are seen in a scope.
func HostsAt(port uint32, scope string) string {
	return tuple.Join("", "hosts", strconv.FormatUint(uint64(port), 10), scope)
}
