package xds

import (
	"slices"
	"strconv"
	"sync"
	"weak"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// HostsName is the name of the route configuration of all hosts at a port.
func HostsName(port uint32) string { return "outbound:hosts:" + strconv.FormatUint(uint64(port), 10) }

// hostsName is that of the one behind o, which leads to a host.
func hostsName(o *effective.Outbound) string {
	if o.Passthrough {
		return PassthroughHostsName(o.Destination.Port)
	}
	return HostsName(o.Destination.Port)
}

// hostSets are the route configurations for hosts of which one table is the
// first, one for each list of the others, for as long as somebody has it. The
// lock guards the list; it never changes what is rendered.
type hostSets struct {
	mu    sync.Mutex
	known []hostSet
}

type hostSet struct {
	name  string
	rest  []*effective.Table
	other beside
	made  weak.Pointer[Resource]
}

// renderHosts is the route configuration of the hosts at one port: one for all
// dataplanes that have the same tables, and other hosts beside them.
func renderHosts(name string, list []*effective.Outbound, other beside) *Resource {
	first := formsOf(list[0].Table, list[0].Kept)
	var rest []*effective.Table
	for _, o := range list[1:] {
		rest = append(rest, o.Table)
	}
	first.hosts.mu.Lock()
	defer first.hosts.mu.Unlock()
	first.hosts.known = slices.DeleteFunc(first.hosts.known, func(s hostSet) bool { return s.made.Value() == nil })
	for _, s := range first.hosts.known {
		if r := s.made.Value(); r != nil && s.name == name && slices.Equal(s.rest, rest) && s.other.equal(other) {
			return r
		}
	}
	r := newHostsResource(name, list, other)
	first.hosts.known = append(first.hosts.known, hostSet{name, rest, other, weak.Make(r)})
	return r
}

// hostForm is one virtual host, which every configuration with the host shares.
type hostForm struct {
	host     *routev3.VirtualHost
	clusters []string
	notes    []api.Note
}

// hostOf is the virtual host of o, made once for its table: where one host among many
// changes, the others are only put together anew.
func hostOf(o *effective.Outbound) *hostForm {
	return formsOf(o.Table, o.Kept).host.Do(func() any {
		b := buildTable(o.Table)
		host := b.host(o.Table, o.Destination.Name)
		withClaims(host, o.Table)
		withAuthorization(host)
		return &hostForm{host, b.clusters, b.notes}
	}).(*hostForm)
}

func newHostsResource(name string, list []*effective.Outbound, other beside) *Resource {
	out := &Resource{}
	var hosts []*routev3.VirtualHost
	for _, o := range list {
		h := hostOf(o)
		hosts = append(hosts, h.host)
		out.Clusters, out.Notes = append(out.Clusters, h.clusters...), append(out.Notes, h.notes...)
	}
	hosts = append(hosts, other.hosts()...)
	if len(list) > 0 && list[0].Passthrough {
		hosts, out.Clusters = append(hosts, passthroughHost()), append(out.Clusters, Passthrough)
	}
	config := routeConfiguration(name, hosts...)
	config.IgnorePortInHostMatching = true
	r := newResource(config.Name, config)
	slices.Sort(out.Clusters)
	r.Clusters, r.Notes = slices.Compact(out.Clusters), out.Notes
	return r
}

// hostsOf are the hosts at the address of r.Outbounds[first], which are beside each
// other.
func hostsOf(r *effective.Resolved, first int) []*effective.Outbound {
	list := r.Outbounds[first:]
	for i, o := range list {
		if i > 0 && !sameListener(list[0], o) {
			return list[:i]
		}
	}
	return list
}

// sameListener reports whether both are hosts at one address.
func sameListener(a, b *effective.Outbound) bool {
	return a.ToHost() && b.ToHost() && a.Edge == b.Edge && a.Passthrough == b.Passthrough && a.Address == b.Address && a.Port == b.Port
}
