package lookup

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/wire"
)

// find is the outbound that a client of r comes to at a; nil where there is none.
func findOutbound(w Reader, r *effective.Resolved, a *wire.URL) *effective.Outbound {
	if spec(r).Edge() {
		return atEdge(r, a)
	}
	if _, err := netip.ParseAddr(a.Host); err == nil {
		for _, o := range r.Outbounds {
			if sameIP(o.Address, a.Host) && o.Port == a.Port {
				return o
			}
		}
		return nil
	}
	named := byName(w, r, a.Host)
	for _, fits := range []func(*effective.Outbound) bool{
		func(o *effective.Outbound) bool { return o.Destination.Port != 0 && o.Destination.Port == a.Port },
		func(o *effective.Outbound) bool { return o.Port == a.Port },
		func(o *effective.Outbound) bool { return o.Destination.Port == 0 && classicPort(r, o, a) },
	} {
		there := slices.DeleteFunc(slices.Clone(named), func(o *effective.Outbound) bool { return !fits(o) })
		if i := slices.IndexFunc(there, func(o *effective.Outbound) bool {
			return ofCluster(o.Destination, a.Host) || ofHome(r, o.Destination, a.Host)
		}); i >= 0 {
			return there[i]
		}
		if len(there) > 0 {
			return there[0]
		}
	}
	return nil
}

// ofCluster reports whether host is a name that the DNS of the cluster has for a service. Whoever calls by it comes to the
// address of the service, whatever routes there are for a host of that name.
func ofCluster(d *effective.Destination, host string) bool {
	return d.Kind == api.KindMeshService && slices.ContainsFunc(d.ClusterNames(), func(n string) bool { return strings.EqualFold(n, host) })
}

// ofHome reports whether host is what the DNS of the cluster calls a Service in r's own namespace.
func ofHome(r *effective.Resolved, d *effective.Destination, host string) bool {
	return d.Ref.Kind == api.KindService && d.Namespace == namespace(r) && strings.EqualFold(d.Name, host)
}

func sameIP(a, b string) bool {
	x, err := netip.ParseAddr(a)
	return err == nil && x.Unmap().String() == b
}

// byName are the outbounds whose destination has that name for clients of r. A name of several
// services is that of the one in r's namespace, else of the first by its id, as the sidecar's own
// resolver has it.
func byName(w Reader, r *effective.Resolved, host string) []*effective.Outbound {
	home := namespace(r)
	var all []*effective.Outbound
	var holder *effective.Destination
	for _, o := range r.Outbounds {
		d := o.Destination
		if !named(d, host) || strange(r, d, host) || hidden(w, r, d, host) {
			continue
		}
		all = append(all, o)
		if d.Kind != api.KindHost && d.Namespace != "" && (holder == nil || nearer(home, d, holder)) {
			holder = d
		}
	}
	if holder == nil || home == "" || spec(r).TransparentProxying == nil && holder.Namespace != home {
		return all
	}
	return slices.DeleteFunc(all, func(o *effective.Outbound) bool {
		d := o.Destination
		return d.Kind != api.KindHost && (d.Namespace != holder.Namespace || d.Name != holder.Name)
	})
}

// nearer reports whether a name of both is that of a where home is the namespace of who calls.
func nearer(home string, a, b *effective.Destination) bool {
	if near := a.Namespace == home; near != (b.Namespace == home) {
		return near
	}
	return a.ID < b.ID
}

// strange reports whether host is the short name of a service of another namespace, which nobody
// tells clients of r: the DNS of a cluster looks a short name up in the namespace of who asks.
func strange(r *effective.Resolved, d *effective.Destination, host string) bool {
	home := namespace(r)
	return spec(r).TransparentProxying != nil && home != "" && d.Namespace != "" && d.Namespace != home &&
		d.Kind != api.KindHost && strings.EqualFold(d.Name, host)
}

// hidden reports whether host is a name of d that nobody tells clients of r, for it is not d's to have in their
// namespace.
func hidden(w Reader, r *effective.Resolved, d *effective.Destination, host string) bool {
	return d.Kind != api.KindHost && !strings.EqualFold(d.Name, host) && !ofCluster(d, host) && !w.NamesFor(r.Ref, d, host)
}

// namespace is where the short names of r's calls are looked up first.
func namespace(r *effective.Resolved) string {
	if r.Dataplane == nil {
		return ""
	}
	return r.Dataplane.HomeNamespace()
}

// named reports whether host is a name of d.
func named(d *effective.Destination, host string) bool {
	return d.Kind == api.KindHost && api.HostCovers(d.Name, strings.ToLower(host)) || strings.EqualFold(d.Name, host) || ofCluster(d, host) || slices.ContainsFunc(d.Hostnames, func(n string) bool { return strings.EqualFold(n, host) })
}

// classicPort reports whether a may mean a kuma.io/service, which has no port of
// its own: at no port, at 80, or at a port of one of its inbounds. At a virtual address it is called
// at the port of that.
func classicPort(r *effective.Resolved, o *effective.Outbound, a *wire.URL) bool {
	if !a.Explicit || a.Port == 80 {
		return true
	}
	if slices.Contains(o.Destination.VIPs, o.Address) {
		return false
	}
	c := r.ClusterNamed(o.Destination.ID)
	return c.Endpoints != nil && slices.ContainsFunc(c.List, func(e effective.Endpoint) bool { return e.Port == a.Port })
}

// spec is the dataplane's own document.
func spec(r *effective.Resolved) *api.Networking {
	if r.Dataplane != nil {
		if d, ok := r.Dataplane.Spec.(*api.Dataplane); ok && d.Networking != nil {
			return d.Networking
		}
	}
	return &api.Networking{}
}
