package lookup

import (
	"cmp"
	"fmt"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim/wire"
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

// mesh is every destination that there is: who is not among them is nobody.
type mesh iter.Seq[*effective.Destination]

// notReached says what would make a reachable, to which no outbound of r leads.
// It is nil where the request passes through, for nobody serves it.
func notReached(w Reader, r *effective.Resolved, a *wire.URL) error {
	m := mesh(w.Destinations(r.Ref.Mesh))
	e := &NotReached{Dataplane: r.Ref.FullName(), Target: a.At(a.Port)}
	if at := elsewhere(w, r, a); len(at) > 0 {
		e.Advice = "it reaches that service at " + strings.Join(at, ", ")
		return e
	}
	if d := m.find(r, a); d != nil {
		switch {
		case strange(r, d, a.Host):
			e.Advice = farther(r, d, a)
		case hidden(w, r, d, a.Host):
			e.Advice = granted(w, r, d, a)
		default:
			e.Advice = opening(r, d)
		}
		return e
	}
	if spec(r).TransparentProxying != nil {
		return nil
	}
	if a.IsIP() {
		e.Advice = fmt.Sprintf("use an address of networking.outbound of Dataplane %s", r.Ref.FullName())
		return e
	}
	e.Advice = fmt.Sprintf("the mesh has no service of that name; create it and add it to networking.outbound of Dataplane %s", r.Ref.FullName())
	if near := nearest.To(a.Host, m.names(r), 3); len(near) > 0 {
		e.Advice += "; or did you mean " + strings.Join(near, " or ") + "?"
	}
	return e
}

// elsewhere is where r reaches what a names, at another port.
func elsewhere(w Reader, r *effective.Resolved, a *wire.URL) []string {
	list := slices.DeleteFunc(byName(w, r, a.Host), func(o *effective.Outbound) bool { return o.Passthrough })
	for _, o := range r.Outbounds {
		if a.IsIP() && virtual(o.Destination, a) {
			list = append(list, o)
		}
	}
	var at []string
	for _, o := range list {
		at = append(at, "http://"+a.At(cmp.Or(o.Destination.Port, o.Port)))
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// find is the destination that a names, be it at another port; a short name is
// looked up in r's namespace first.
func (m mesh) find(r *effective.Resolved, a *wire.URL) *effective.Destination {
	home := namespace(r)
	fit := func(d *effective.Destination) (n int) {
		if home != "" && d.Namespace == home {
			n = 2
		}
		if d.Port == a.Port {
			n++
		}
		return n
	}
	var found *effective.Destination
	m.each(func(d *effective.Destination) {
		if (named(d, a.Host) || virtual(d, a)) && !passed(r, d, a) && (found == nil || fit(d) > fit(found)) {
			found = d
		}
	})
	return found
}

// passed reports whether r's calls to a go where they were going although d has the
// name: with redirection nobody looks for hosts but at their ports.
func passed(r *effective.Resolved, d *effective.Destination, a *wire.URL) bool {
	t := spec(r).TransparentProxying
	return t != nil && (d.Outside || d.Kind == api.KindHost && (d.Port != a.Port || d.Name == api.AnyHost || t.ReachableBackends == nil))
}

// names are those that a writer may have meant.
func (m mesh) names(r *effective.Resolved) []string {
	var names []string
	for _, o := range r.Outbounds {
		names = append(names, o.Destination.Name)
	}
	m.each(func(d *effective.Destination) { names = append(names, d.Name) })
	slices.Sort(names)
	return slices.Compact(names)
}

// each calls do for every destination; a nil mesh has none.
func (m mesh) each(do func(*effective.Destination)) {
	if m == nil {
		return
	}
	for d := range m {
		do(d)
	}
}

// virtual reports whether a's host is a virtual address of d.
func virtual(d *effective.Destination, a *wire.URL) bool {
	return slices.ContainsFunc(d.VIPs, func(ip string) bool { return sameIP(ip, a.Host) })
}

// farther says by which name r calls d, whose short name is found in its own namespace alone.
func farther(r *effective.Resolved, d *effective.Destination, a *wire.URL) string {
	full := d.Name + ".mesh"
	if d.Ref.Kind == api.KindService {
		full = d.ClusterNames()[0]
	}
	return fmt.Sprintf("%s is a name of namespace %s, and %s is in namespace %s, where it is not found by it; call http://%s", a.Host, d.Namespace, r.Ref.FullName(), namespace(r), hostPort(full, d, a))
}

// hostPort is d by one of its names, with its port; where it has none with that of a.
func hostPort(name string, d *effective.Destination, a *wire.URL) string {
	return net.JoinHostPort(name, strconv.FormatUint(uint64(cmp.Or(d.Port, a.Port)), 10))
}

// granted says what would let clients of r call d by the name of a, or by which one they do.
func granted(w Reader, r *effective.Resolved, d *effective.Destination, a *wire.URL) string {
	advice := fmt.Sprintf("%s is a name of %s %s in namespace %s alone; grant that namespace the host in tenancy.hosts of Mesh %s", a.Host, d.Kind, d.Name, d.Namespace, r.Ref.Mesh)
	for _, name := range append(d.ClusterNames(), d.Hostnames...) {
		if !hidden(w, r, d, name) && !strange(r, d, name) {
			return advice + ", or call http://" + hostPort(name, d, a)
		}
	}
	return advice
}

// opening says how r would come to reach d, which the mesh has.
func opening(r *effective.Resolved, d *effective.Destination) string {
	name := d.Kind + " " + d.Name
	if d.Namespace != "" {
		name += "." + d.Namespace
	}
	if d.Port != 0 {
		name += fmt.Sprintf(" port %d", d.Port)
	}
	outbound := fmt.Sprintf("add %s to networking.outbound of Dataplane %s", name, r.Ref.FullName())
	switch t := spec(r).TransparentProxying; {
	case t == nil:
		return outbound + ", or give it networking.transparentProxying"
	case d.Kind == api.KindHost:
		return fmt.Sprintf("add a backend of its routes to %s", limiter(r))
	case len(d.VIPs) == 0 && d.Ref.Kind == api.KindService: // which is headless
		return "that service has no address of its own, and clients call its pods" + instanceOf(r, d)
	case len(d.VIPs) == 0 && d.Ref.Name == "": // of the tag kuma.io/service alone
		return "where traffic is redirected the MeshServices of the mesh are called, and that service has no MeshService with this port; create one, or " + outbound
	case len(d.VIPs) == 0:
		return "that service has no virtual address in its status; " + outbound
	case t.ReachableBackends != nil:
		return fmt.Sprintf("add %s to %s", name, limiter(r))
	}
	return outbound
}

// instanceOf names where r calls a pod of a headless service, if it calls any.
func instanceOf(r *effective.Resolved, d *effective.Destination) string {
	for _, o := range r.Outbounds {
		if a := o.Destination.Above; a != nil && a.Name == d.Name && a.Namespace == d.Namespace && a.Port == d.Port {
			return ": ask for " + net.JoinHostPort(o.Address, strconv.FormatUint(uint64(o.Port), 10))
		}
	}
	return ", of which there is none"
}

// limiter is where it stands what a dataplane reaches.
func limiter(r *effective.Resolved) string {
	if from := r.Dataplane.From; from != nil {
		return "annotation kuma.io/reachable-backends of " + from.Kind + " " + from.Namespace + "/" + from.Name
	}
	return "networking.transparentProxying.reachableBackends of Dataplane " + r.Ref.FullName()
}
