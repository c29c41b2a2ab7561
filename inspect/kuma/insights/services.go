package insights

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
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
	Dataplanes  Members   `json:"dataplanes"` // of an external one none
	// Issued counts dataplanes by who has signed their certificates: by roots until Backends has named
	// them.
	Issued      map[string]int `json:"issuedBackends,omitempty"`
	AddressPort string         `json:"addressPort,omitempty"`
	Zones       []string       `json:"zones"`
}

// Members are the dataplanes of a service, as Counts, with the zeros of what Kuma's client reads of
// every service without looking whether it is there.
type Members struct {
	Total             int `json:"total"`
	Online            int `json:"online"`
	Offline           int `json:"offline"`
	PartiallyDegraded int `json:"partiallyDegraded,omitempty"`
}

// serviceInsights are the services of the dataplanes that are counted, and the
// MeshExternalServices, by name.
func (t *Tally) serviceInsights(s *snapshot.Snapshot, mesh *api.Object) []ServiceInsight {
	out := make([]ServiceInsight, 0, len(t.services))
	for name, x := range t.services {
		counts := x.counts
		out = append(out, ServiceInsight{Type: "ServiceOverview", Mesh: mesh.Name, Name: name, Created: mesh.Created, Modified: mesh.Modified,
			ServiceType: serviceTypes[x.class()], Status: statusOf(&counts), Dataplanes: Members(counts), Issued: maps.Clone(x.roots), AddressPort: name + ".mesh:80", Zones: append([]string{}, slices.Sorted(maps.Keys(x.zones))...)})
	}
	for o := range s.Of(api.KindMeshExternalService, mesh.Name) {
		name := o.FullName()
		if x, ok := o.Spec.(*api.MeshExternalService); ok && x.Match != nil && t.services[name] == nil {
			out = append(out, ServiceInsight{Type: "ServiceOverview", Mesh: mesh.Name, Name: name, Created: o.Created, Modified: o.Modified,
				ServiceType: External, Status: notKnown, AddressPort: name + ".mesh:" + strconv.Itoa(int(x.Match.Port)), Zones: []string{}})
		}
	}
	slices.SortFunc(out, func(a, b ServiceInsight) int { return cmp.Compare(a.Name, b.Name) })
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
	c.add(status, 1)
	return c
}
