// Package insights counts the dataplanes of a mesh and of its services as MeshInsight and ServiceInsight
// show them (spec/kuma.md 5).
package insights

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect"
)

// Seen is what is known of the sidecar of a dataplane.
type Seen struct {
	Connected    bool
	Agent, Envoy string // versions; empty where nobody knows
	Root         string // the fingerprint of that of its certificate; empty where it has none
}

// SeenOf is what insights tell of a sidecar.
func SeenOf(s *inspect.Sidecar) Seen {
	out := Seen{Connected: s.Connected, Agent: s.Agent}
	if s.Client == "envoy" {
		out.Envoy = s.Version
	}
	return out
}

// Counts are dataplanes by whether they answer. Offline is one without a connected sidecar
// or without a ready inbound, PartiallyDegraded one with some that are not ready.
type Counts struct {
	Total             int `json:"total,omitempty"`
	Online            int `json:"online,omitempty"`
	Offline           int `json:"offline,omitempty"`
	PartiallyDegraded int `json:"partiallyDegraded,omitempty"`
}

// add counts by more dataplanes that are in a state.
func (c *Counts) add(state string, by int) {
	c.Total += by
	switch state {
	case online:
		c.Online += by
	case offline:
		c.Offline += by
	default:
		c.PartiallyDegraded += by
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
	MTLS       BackendCounts     `json:"mTLS"` // by roots until Backends has named them
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
func InsightsOf(catalog *api.Catalog, s *snapshot.Snapshot, mesh *api.Object, known func(api.Ref) Seen) (MeshInsight, []ServiceInsight) {
	t := NewTally()
	for o := range s.Of(api.KindDataplane, mesh.Name) {
		if dp, ok := o.Spec.(*api.Dataplane); ok && dp.Networking != nil {
			t.Add(dp.Networking, known(o.Ref))
		}
	}
	return t.Insights(catalog, s, mesh)
}

// Insights summarises a mesh of s whose dataplanes are counted, and its services by name.
func (t *Tally) Insights(catalog *api.Catalog, s *snapshot.Snapshot, mesh *api.Object) (MeshInsight, []ServiceInsight) {
	out := MeshInsight{Type: "MeshInsight", Name: mesh.Name, Created: mesh.Created, Modified: mesh.Modified, Dataplanes: t.planes, ByType: t.byClass(),
		Policies: map[string]Total{}, Resources: map[string]Total{}, Versions: Versions{values(t.agents), values(t.envoys)}, MTLS: BackendCounts{Issued: values(t.roots)}}
	for _, k := range catalog.Types() {
		n := s.Count(k.Name, mesh.Name)
		if n == 0 || k.Global {
			continue
		}
		out.Resources[k.Name] = Total{n}
		if k.Policy {
			out.Policies[k.Name] = Total{n}
		}
	}
	all := t.serviceInsights(s, mesh)
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
