package kuma

import (
	"time"

	"github.com/weftmesh/weft/api"
)

// Seen is what is known of the sidecar of a dataplane.
type Seen struct {
	Connected    bool
	Agent, Envoy string // versions; empty where nobody knows
}

// Counts are dataplanes by whether they answer. Offline is one without a connected sidecar
// or without a ready inbound, PartiallyDegraded one with some that are not ready.
type Counts struct {
	Total             int `json:"total,omitempty"`
	Online            int `json:"online,omitempty"`
	Offline           int `json:"offline,omitempty"`
	PartiallyDegraded int `json:"partiallyDegraded,omitempty"`
}

func (c *Counts) add(state string) {
	c.Total++
	switch state {
	case online:
		c.Online++
	case offline:
		c.Offline++
	default:
		c.PartiallyDegraded++
	}
}

const (
	online   = "online"
	offline  = "offline"
	degraded = "partially_degraded"
	notKnown = "not_available" // of what has no sidecar
)

// state is whether the dataplane answers.
func state(n *api.Networking, seen Seen) string {
	ready, all := 0, 0
	for i := range n.Inbound {
		if in := &n.Inbound[i]; in.Ready() {
			ready, all = ready+1, all+1
		} else if in.Port != api.MarkerPort {
			all++
		}
	}
	switch {
	case !seen.Connected, ready == 0 && all > 0:
		return offline
	case ready < all:
		return degraded
	}
	return online
}

// MeshInsight is Kuma's summary of a mesh (spec/kuma.md 5.4).
type MeshInsight struct {
	Type       string            `json:"type"`
	Name       string            `json:"name"`
	Created    time.Time         `json:"creationTime"`
	Modified   time.Time         `json:"modificationTime"`
	Dataplanes Counts            `json:"dataplanes"`
	ByType     map[string]Counts `json:"dataplanesByType"`
	Policies   map[string]Total  `json:"policies"`
	Resources  map[string]Total  `json:"resources"`
	Versions   Versions          `json:"dpVersions"`
	MTLS       struct{}          `json:"mTLS"`
	Services   ServiceTotals     `json:"services"`
}

// Total is how many there are.
type Total struct {
	Total int `json:"total,omitempty"`
}

// Versions counts dataplanes by the versions of their programs.
type Versions struct {
	Agent map[string]Counts `json:"kumaDp"`
	Envoy map[string]Counts `json:"envoy"`
}

// ServiceTotals counts services, those of MeshExternalServices apart.
type ServiceTotals struct {
	Total    int `json:"total,omitempty"`
	Internal int `json:"internal,omitempty"`
	External int `json:"external,omitempty"`
}

// InsightsOf summarises a mesh of s, and its services by name, in one look at each dataplane.
func InsightsOf(catalog *api.Catalog, s *api.Snapshot, mesh *api.Object, known func(api.Ref) Seen) (MeshInsight, []ServiceInsight) {
	out := MeshInsight{Type: "MeshInsight", Name: mesh.Name, Created: mesh.Created, Modified: mesh.Modified,
		Policies: map[string]Total{}, Resources: map[string]Total{}, Versions: Versions{map[string]Counts{}, map[string]Counts{}}}
	for _, t := range catalog.Types() {
		n := s.Count(t.Name, mesh.Name)
		if n == 0 || t.Global {
			continue
		}
		out.Resources[t.Name] = Total{n}
		if t.Policy {
			out.Policies[t.Name] = Total{n}
		}
	}
	by := map[string]*Counts{"standard": {}, "gateway": {}, "gatewayBuiltin": {}, "gatewayDelegated": {}}
	found, agents, envoys := services{}, map[string]*Counts{}, map[string]*Counts{}
	for o := range s.Of(api.KindDataplane, mesh.Name) {
		dp, ok := o.Spec.(*api.Dataplane)
		if !ok || dp.Networking == nil {
			continue
		}
		seen, class := known(o.Ref), classOf(dp.Networking)
		is := state(dp.Networking, seen)
		out.Dataplanes.add(is)
		by[class].add(is)
		if class != "standard" {
			by["gateway"].add(is)
		}
		count(agents, seen.Agent, is)
		count(envoys, seen.Envoy, is)
		found.add(mesh, dp.Networking, is)
	}
	out.ByType = map[string]Counts{}
	for into, counted := range map[*map[string]Counts]map[string]*Counts{&out.ByType: by, &out.Versions.Agent: agents, &out.Versions.Envoy: envoys} {
		for name, n := range counted {
			(*into)[name] = *n
		}
	}
	found.external(s, mesh)
	all := found.sorted()
	for _, x := range all {
		out.Services.Total++
		if x.ServiceType == External {
			out.Services.External++
		} else {
			out.Services.Internal++
		}
	}
	return out, all
}

func count(versions map[string]*Counts, version, is string) {
	if version == "" {
		return
	}
	n := versions[version]
	if n == nil {
		n = &Counts{}
		versions[version] = n
	}
	n.add(is)
}

// classOf is the word for a kind of dataplane.
func classOf(n *api.Networking) string {
	switch {
	case n.Gateway == nil:
		return "standard"
	case n.Gateway.Type == "BUILTIN":
		return "gatewayBuiltin"
	}
	return "gatewayDelegated"
}
