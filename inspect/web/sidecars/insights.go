package sidecars

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/kuma/insights"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
)

var ofType = endpoint.Parameter{Name: "type", About: "Services of one type", Schema: endpoint.OneOf(serviceTypes...)}

// insightsOf summarises a mesh and its services.
func (h *Handlers) insightsOf(snapshot *snapshot.Snapshot, mesh *api.Object) (insights.MeshInsight, []insights.ServiceInsight) {
	insight, services := h.FleetCounts.Insights(h.Catalog, snapshot, mesh)
	h.backends(snapshot, mesh.Name).Name(&insight, services)
	return insight, services
}

// backends are those who sign in a mesh.
func (h *Handlers) backends(snapshot *snapshot.Snapshot, mesh string) insights.Backends {
	if h.Roots == nil {
		return insights.Backends{}
	}
	return insights.BackendsOf(h.Catalog, snapshot, h.Roots(mesh))
}

func (h *Handlers) meshInsights(w http.ResponseWriter, r *http.Request) error {
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	all := []insights.MeshInsight{}
	for mesh := range snapshot.OfKind(api.KindMesh) {
		insight, _ := h.insightsOf(snapshot, mesh)
		all = append(all, insight)
	}
	p, err := objects.PageOf(r, all, func(x insights.MeshInsight) string { return x.Name })
	return httpapi.Reply(w, p, err)
}

func (h *Handlers) meshInsight(w http.ResponseWriter, r *http.Request) error {
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	mesh, ok := snapshot.Get(api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")})
	if !ok {
		return httpapi.NotFound()
	}
	insight, _ := h.insightsOf(snapshot, mesh)
	httpapi.Answer(w, http.StatusOK, insight)
	return nil
}

// services are those of the mesh of a request.
func (h *Handlers) services(r *http.Request) ([]insights.ServiceInsight, error) {
	if err := h.CheckMesh(r.PathValue("mesh")); err != nil {
		return nil, err
	}
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	mesh, ok := snapshot.Get(api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")})
	if !ok {
		return nil, httpapi.NotFound()
	}
	_, all := h.insightsOf(snapshot, mesh)
	return all, nil
}

var serviceTypes = []string{insights.Internal, insights.External, insights.GatewayBuiltin, insights.GatewayDelegated}

func (h *Handlers) serviceInsights(w http.ResponseWriter, r *http.Request) error {
	all, err := h.services(r)
	if err != nil {
		return err
	}
	if want := r.URL.Query().Get("type"); want != "" {
		if !slices.Contains(serviceTypes, want) {
			return httpapi.BadField("type", strconv.Quote(want)+" is no type of services; use "+strings.Join(serviceTypes, ", "))
		}
		all = slices.DeleteFunc(all, func(x insights.ServiceInsight) bool { return x.ServiceType != want })
	}
	p, err := objects.PageOf(r, all, func(x insights.ServiceInsight) string { return x.Name })
	return httpapi.Reply(w, p, err)
}

func (h *Handlers) serviceInsight(w http.ResponseWriter, r *http.Request) error {
	all, err := h.services(r)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(x insights.ServiceInsight) bool { return x.Name == r.PathValue("name") })
	if i < 0 {
		return httpapi.NotFound()
	}
	all[i].Type = "ServiceInsight"
	httpapi.Answer(w, http.StatusOK, all[i])
	return nil
}

// globalCounts are dataplanes or services, with zeros.
type globalCounts struct {
	Total   int `json:"total"`
	Online  int `json:"online"`
	Offline int `json:"offline"`
	Partial int `json:"partiallyDegraded"`
}

func (c *globalCounts) add(n insights.Counts) {
	c.Total, c.Online, c.Offline, c.Partial = c.Total+n.Total, c.Online+n.Online, c.Offline+n.Offline, c.Partial+n.PartiallyDegraded
}

// globalTotal is a count, also of nothing.
type globalTotal struct {
	Total int `json:"total"`
}

// globalInsight is the answer of GET /global-insight.
type globalInsight struct {
	Created    time.Time                 `json:"createdAt"`
	Meshes     globalTotal               `json:"meshes"`
	Policies   globalTotal               `json:"policies"`
	Resources  map[string]insights.Total `json:"resources"`
	Dataplanes map[string]*globalCounts  `json:"dataplanes"` // by class: standard, gatewayDelegated, gatewayBuiltin
	Services   map[string]*globalCounts  `json:"services"`   // by class: internal, external, gatewayDelegated, gatewayBuiltin
	Zones      zoneCounts                `json:"zones"`
}

// zoneCounts are the parts of zones, of which this control plane is the only one.
type zoneCounts struct {
	ControlPlanes globalCounts `json:"controlPlanes"`
	Ingresses     globalCounts `json:"zoneIngresses"`
	Egresses      globalCounts `json:"zoneEgresses"`
}

func (h *Handlers) globalInsight(w http.ResponseWriter, r *http.Request) error {
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	resources, ofPolicies := map[string]insights.Total{}, 0
	for _, t := range h.Catalog.Types() {
		n := snapshot.CountOfKind(t.Name)
		if n > 0 {
			resources[t.Name] = insights.Total{Total: n}
		}
		if t.Policy {
			ofPolicies += n
		}
	}
	planes := map[string]*globalCounts{"standard": {}, "gatewayDelegated": {}, "gatewayBuiltin": {}}
	services := map[string]*globalCounts{insights.Internal: {}, insights.External: {}, "gatewayDelegated": {}, "gatewayBuiltin": {}}
	for mesh := range snapshot.OfKind(api.KindMesh) {
		insight, all := h.FleetCounts.Insights(h.Catalog, snapshot, mesh)
		for class, n := range insight.ByType {
			if planes[class] != nil {
				planes[class].add(n)
			}
		}
		for _, x := range all {
			services[insights.GlobalClass(x.ServiceType)].add(insights.Of(x.Status))
		}
	}
	httpapi.Answer(w, http.StatusOK, globalInsight{Created: time.Now().UTC().Truncate(time.Second), Meshes: globalTotal{snapshot.CountOfKind(api.KindMesh)}, Policies: globalTotal{ofPolicies},
		Resources: resources, Dataplanes: planes, Services: services, Zones: zoneCounts{ControlPlanes: globalCounts{Total: 1, Online: 1}}})
	return nil
}
