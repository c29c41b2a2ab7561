package xds

import (
	"slices"
	"strconv"
	"sync"
	"weak"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// HostsName is the name of the route configuration of all hosts at a port.
func HostsName(port uint32) string { return "outbound:hosts:" + strconv.FormatUint(uint64(port), 10) }

// hostSets are the route configurations for hosts of which one table is the
// first, one for each list of the others, for as long as somebody has it. The
// lock guards the list; it never changes what is rendered.
type hostSets struct {
	mu    sync.Mutex
	known []hostSet
}

type hostSet struct {
	rest []*resolve.Table
	made weak.Pointer[Resource]
}

// renderHosts is the route configuration of tables, which belong to the hosts at
// one port: one for all dataplanes that have the same ones.
func renderHosts(tables []*resolve.Table) *Resource {
	first, rest := formsOf(tables[0]), tables[1:]
	first.hosts.mu.Lock()
	defer first.hosts.mu.Unlock()
	first.hosts.known = slices.DeleteFunc(first.hosts.known, func(s hostSet) bool { return s.made.Value() == nil })
	for _, s := range first.hosts.known {
		if r := s.made.Value(); r != nil && slices.Equal(s.rest, rest) {
			return r
		}
	}
	r := sealHosts(tables)
	first.hosts.known = append(first.hosts.known, hostSet{slices.Clone(rest), weak.Make(r)})
	return r
}

// hostForm is one virtual host, which every configuration with the host shares.
type hostForm struct {
	host     *routev3.VirtualHost
	clusters []string
	notes    []api.Note
}

// hostOf is the virtual host of t, made once: where one host among many changes, the
// others are only put together anew.
func hostOf(t *resolve.Table) *hostForm {
	return formsOf(t).host.Do(func() any {
		b := buildTable(t)
		return &hostForm{b.host(t, t.Destination.Name), b.clusters, b.notes}
	}).(*hostForm)
}

func sealHosts(tables []*resolve.Table) *Resource {
	out := &Resource{}
	var hosts []*routev3.VirtualHost
	for _, t := range tables {
		h := hostOf(t)
		hosts = append(hosts, h.host)
		out.Clusters, out.Notes = append(out.Clusters, h.clusters...), append(out.Notes, h.notes...)
	}
	config := routeConfiguration(HostsName(tables[0].Destination.Port), hosts...)
	config.IgnorePortInHostMatching = true
	r := seal(config.Name, config)
	slices.Sort(out.Clusters)
	r.Clusters, r.Notes = slices.Compact(out.Clusters), out.Notes
	return r
}

// hostsOf are the tables of the hosts at the address of r.Outbounds[first], which
// are beside each other, and how many there are.
func hostsOf(r *resolve.Resolved, first int) []*resolve.Table {
	var out []*resolve.Table
	for i, o := range r.Outbounds[first:] {
		if i > 0 && !sameListener(r.Outbounds[first], o) {
			break
		}
		out = append(out, o.Table)
	}
	return out
}

// sameListener reports whether both are hosts at one address.
func sameListener(a, b *resolve.Outbound) bool {
	return a.ToHost() && b.ToHost() && a.Address == b.Address && a.Port == b.Port
}
