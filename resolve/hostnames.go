package resolve

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Hostname is a name that only the mesh knows, and the virtual addresses that it stands
// for, sorted.
type Hostname struct {
	Name      string // in lower case
	Addresses []string
}

// Hostnames are the names by which the workload of a dataplane may call what it reaches
// at virtual addresses, as far as nobody else answers for them (spec/kubernetes.md 3.10):
// <name>.mesh and those of status. Names of a Kubernetes Service are its cluster's.
// Of two services with one name that of the dataplane's namespace holds, else the first
// by its destination id. They are sorted by name.
func (r *Resolved) Hostnames() []Hostname {
	held := map[string]*Destination{}
	home := r.Dataplane.HomeNamespace()
	for _, o := range r.Outbounds {
		d := o.Destination
		if !slices.Contains(d.VIPs, o.Address) {
			continue
		}
		for _, name := range d.Hostnames {
			name = strings.ToLower(name)
			if d.ofCluster(name) {
				continue
			}
			if by := held[name]; by == nil || holdsName(d, by, home) {
				held[name] = d
			}
		}
	}
	out := make([]Hostname, 0, len(held))
	for _, name := range slices.Sorted(maps.Keys(held)) {
		out = append(out, Hostname{name, slices.Compact(slices.Sorted(slices.Values(held[name].VIPs)))})
	}
	return out
}

// holdsName reports whether a has a name rather than b, for callers of a namespace.
func holdsName(a, b *Destination, home string) bool {
	if (a.Namespace == home) != (b.Namespace == home) {
		return a.Namespace == home
	}
	return cmp.Compare(a.ID, b.ID) < 0
}

// ofCluster reports whether the name is a short one, or one that the DNS of a cluster
// answers.
func (d *Destination) ofCluster(name string) bool {
	return name == "" || name == strings.ToLower(d.Name) || d.Kind == api.KindHost ||
		d.Namespace != "" && (!strings.HasSuffix(name, ".mesh") && strings.HasPrefix(name, strings.ToLower(d.Ref.Name+"."+d.Namespace)) &&
			(len(name) == len(d.Ref.Name+"."+d.Namespace) || strings.HasSuffix(name, ".svc.cluster.local")))
}
