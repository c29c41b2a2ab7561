package sim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// NotReached says that the dataplane has no way to what a URL names.
type NotReached struct {
	Dataplane string
	Target    string // host:port
	Advice    string
}

// Error is one line for people.
func (e *NotReached) Error() string {
	return fmt.Sprintf("%s does not reach %s; %s", e.Dataplane, e.Target, e.Advice)
}

// find is the outbound that a client of r comes to at a; nil where there is none.
func find(r *resolve.Resolved, a *address) *resolve.Outbound {
	if _, err := netip.ParseAddr(a.host); err == nil {
		for _, o := range r.Outbounds {
			if sameIP(o.Address, a.host) && o.Port == a.port {
				return o
			}
		}
		return nil
	}
	named := byName(r, a.host)
	for _, fits := range []func(*resolve.Outbound) bool{
		func(o *resolve.Outbound) bool { return o.Destination.Port != 0 && o.Destination.Port == a.port },
		func(o *resolve.Outbound) bool { return o.Port == a.port },
		func(o *resolve.Outbound) bool { return o.Destination.Port == 0 && classicPort(r, o, a) },
	} {
		if i := slices.IndexFunc(named, fits); i >= 0 {
			return named[i]
		}
	}
	return nil
}

func sameIP(a, b string) bool {
	x, err := netip.ParseAddr(a)
	return err == nil && x.Unmap().String() == b
}

// byName are the outbounds whose destination has that name. A short name is
// looked up in the dataplane's namespace, then in the mesh.
func byName(r *resolve.Resolved, host string) []*resolve.Outbound {
	home := ""
	if r.Dataplane != nil {
		home = r.Dataplane.HomeNamespace()
	}
	var all, near []*resolve.Outbound
	for _, o := range r.Outbounds {
		d := o.Destination
		if !slices.ContainsFunc(d.Hostnames, func(n string) bool { return strings.EqualFold(n, host) }) && !strings.EqualFold(d.Name, host) {
			continue
		}
		all = append(all, o)
		if strings.EqualFold(d.Name, host) && home != "" && d.Namespace == home {
			near = append(near, o)
		}
	}
	if len(near) > 0 {
		return near
	}
	return all
}

// classicPort reports whether a may mean a kuma.io/service, which has no port of
// its own: at no port, at 80, or at a port of one of its inbounds.
func classicPort(r *resolve.Resolved, o *resolve.Outbound, a *address) bool {
	if !a.explicit || a.port == 80 {
		return true
	}
	c := clusterOf(r, o.Destination.ID)
	return c.Endpoints != nil && slices.ContainsFunc(c.List, func(e resolve.Endpoint) bool { return e.Port == a.port })
}

// clusterOf finds a cluster by name; its fields are nil where there is none.
func clusterOf(r *resolve.Resolved, name string) resolve.ClusterUse {
	for _, c := range r.Clusters {
		if c.Cluster.Name == name {
			return c
		}
	}
	return resolve.ClusterUse{}
}

// notReached says what would make a reachable.
func notReached(r *resolve.Resolved, a *address) error {
	e := &NotReached{Dataplane: r.Ref.Name, Target: fmt.Sprintf("%s:%d", a.host, a.port)}
	named := byName(r, a.host)
	if len(named) > 0 {
		var at []string
		for _, o := range named {
			at = append(at, fmt.Sprintf("http://%s:%d", a.host, cmp.Or(o.Destination.Port, o.Port)))
		}
		slices.Sort(at)
		e.Advice = "it reaches that service at " + strings.Join(slices.Compact(at), ", ")
		return e
	}
	e.Advice = fmt.Sprintf("add %s to networking.outbound of Dataplane %s, or give it networking.transparentProxying", a.host, r.Ref.Name)
	if _, err := netip.ParseAddr(a.host); err == nil {
		e.Advice = fmt.Sprintf("use an address of networking.outbound of Dataplane %s", r.Ref.Name)
	}
	var names []string
	for _, o := range r.Outbounds {
		names = append(names, o.Destination.Name)
	}
	slices.Sort(names)
	if near := api.Nearest(a.host, slices.Compact(names), 3); len(near) > 0 {
		e.Advice += "; or did you mean " + strings.Join(near, " or ") + "?"
	}
	return e
}

// spec is the dataplane's own document.
func spec(r *resolve.Resolved) *api.Networking {
	if r.Dataplane != nil {
		if d, ok := r.Dataplane.Spec.(*api.Dataplane); ok && d.Networking != nil {
			return d.Networking
		}
	}
	return &api.Networking{}
}
