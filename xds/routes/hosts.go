package routes

import (
	"slices"
	"sync"
	"weak"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/filters"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

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
	other Misdirected
	made  weak.Pointer[resource.Resource]
}

// RenderHosts is the route configuration of the hosts at one port: one for all
// dataplanes that have the same tables, and other hosts beside them.
func RenderHosts(name string, list []*effective.Outbound, other Misdirected) *resource.Resource {
	if len(list) == 0 {
		return newHostsResource(name, nil, other)
	}
	first := formsOf(list[0].Table, list[0].Cache)
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
	return formsOf(o.Table, o.Cache).host.Do(func() any {
		b := Build(o.Table, true)
		host := b.host(o.Table, o.Destination.Name)
		filters.WithClaims(host, o.Table)
		filters.WithAuthorization(host)
		return &hostForm{host, b.Clusters, b.Notes}
	}).(*hostForm)
}

func newHostsResource(name string, list []*effective.Outbound, other Misdirected) *resource.Resource {
	out := &resource.Resource{}
	var hosts []*routev3.VirtualHost
	for _, o := range list {
		h := hostOf(o)
		hosts = append(hosts, h.host)
		out.Clusters, out.Notes = append(out.Clusters, h.clusters...), append(out.Notes, h.notes...)
	}
	hosts = append(hosts, other.hosts()...)
	if len(list) > 0 && list[0].Passthrough {
		hosts, out.Clusters = append(hosts, passthroughHost()), append(out.Clusters, naming.Passthrough)
	}
	config := routeConfiguration(name, hosts...)
	config.IgnorePortInHostMatching = true
	r := resource.New(config.Name, config)
	slices.Sort(out.Clusters)
	r.Clusters, r.Notes = slices.Compact(out.Clusters), out.Notes
	return r
}

// NoHosts is the route configuration of a port where nobody serves a host.
func NoHosts(name string) *resource.Resource { return resource.New(name, routeConfiguration(name)) }

// HostsAt are the hosts at the address of r.Outbounds[first], which are beside each
// other.
func HostsAt(r *effective.Resolved, first int) []*effective.Outbound {
	list := r.Outbounds[first:]
	for i, o := range list {
		if i > 0 && !SameListener(list[0], o) {
			return list[:i]
		}
	}
	return list
}

// SameListener reports whether both are hosts at one address.
func SameListener(a, b *effective.Outbound) bool {
	return a.ToHost() && b.ToHost() && a.Edge == b.Edge && a.Passthrough == b.Passthrough && a.Address == b.Address && a.Port == b.Port
}
