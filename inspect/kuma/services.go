package kuma

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/weftmesh/weft/api"
)

// The types of services.
const (
	Internal         = "internal"
	External         = "external"
	GatewayBuiltin   = "gateway_builtin"
	GatewayDelegated = "gateway_delegated"
)

// ServiceInsight is Kuma's summary of a service: of all dataplanes with its tag
// kuma.io/service, or of a MeshExternalService.
type ServiceInsight struct {
	Type        string    `json:"type"`
	Mesh        string    `json:"mesh"`
	Name        string    `json:"name"`
	Created     time.Time `json:"creationTime"`
	Modified    time.Time `json:"modificationTime"`
	ServiceType string    `json:"serviceType"`
	Status      string    `json:"status"`
	Dataplanes  *Counts   `json:"dataplanes,omitempty"` // of an external one none
	AddressPort string    `json:"addressPort,omitempty"`
	Zones       []string  `json:"zones"`
}

// services are those found, by name.
type services map[string]*ServiceInsight

// add counts a dataplane that is in a state.
func (found services) add(mesh *api.Object, n *api.Networking, is string) {
	for name, tags := range servicesOf(n) {
		x := found[name]
		if x == nil {
			x = &ServiceInsight{Type: "ServiceOverview", Mesh: mesh.Name, Name: name, Created: mesh.Created, Modified: mesh.Modified,
				ServiceType: serviceTypes[classOf(n)], Dataplanes: &Counts{}, AddressPort: name + ".mesh:80", Zones: []string{}}
			found[name] = x
		}
		x.Dataplanes.add(is)
		if zone := tags["kuma.io/zone"]; zone != "" && !slices.Contains(x.Zones, zone) {
			x.Zones = append(x.Zones, zone)
		}
	}
}

// external adds the MeshExternalServices.
func (found services) external(s *api.Snapshot, mesh *api.Object) {
	for o := range s.Of(api.KindMeshExternalService, mesh.Name) {
		name := o.FullName()
		if x, ok := o.Spec.(*api.MeshExternalService); ok && x.Match != nil && found[name] == nil {
			found[name] = &ServiceInsight{Type: "ServiceOverview", Mesh: mesh.Name, Name: name, Created: o.Created, Modified: o.Modified,
				ServiceType: External, Status: notKnown, AddressPort: name + ".mesh:" + strconv.Itoa(int(x.Match.Port)), Zones: []string{}}
		}
	}
}

func (found services) sorted() []ServiceInsight {
	out := make([]ServiceInsight, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		x := found[name]
		slices.Sort(x.Zones)
		if x.Dataplanes != nil {
			x.Status = cmp.Or(x.Status, statusOf(x.Dataplanes))
		}
		out = append(out, *x)
	}
	return out
}

var serviceTypes = map[string]string{"standard": Internal, "gatewayBuiltin": GatewayBuiltin, "gatewayDelegated": GatewayDelegated}

// servicesOf yields the names of the services that a dataplane is of, each once, with the tags
// of its last inbound of that.
func servicesOf(n *api.Networking) iter.Seq2[string, map[string]string] {
	return func(yield func(string, map[string]string) bool) {
		isOf := func(name string, rest []api.Inbound) bool {
			return slices.ContainsFunc(rest, func(in api.Inbound) bool { return in.Tags[api.TagService] == name })
		}
		if n.Gateway != nil {
			if name := n.Gateway.Tags[api.TagService]; name != "" && !isOf(name, n.Inbound) && !yield(name, n.Gateway.Tags) {
				return
			}
		}
		for i := range n.Inbound {
			tags := n.Inbound[i].Tags
			if name := tags[api.TagService]; name != "" && !isOf(name, n.Inbound[i+1:]) && !yield(name, tags) {
				return
			}
		}
	}
}

// statusOf is whether the dataplanes of a service answer.
func statusOf(c *Counts) string {
	switch {
	case c.Online == c.Total:
		return online
	case c.Offline == c.Total:
		return offline
	}
	return degraded
}

// GlobalClass is the word of GET /global-insight for a type of services.
func GlobalClass(serviceType string) string {
	for class, t := range serviceTypes {
		if t == serviceType && class != "standard" {
			return class
		}
	}
	return serviceType
}

// Of counts one service by its status.
func Of(status string) Counts {
	c := Counts{}
	if status == notKnown {
		return Counts{Total: 1}
	}
	c.add(status)
	return c
}
