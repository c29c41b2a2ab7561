package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
)

func (h *sidecarHandlers) insightRoutes() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.New("GET /global-insight", h.globalInsight, "Counts of everything", endpoint.Says[globalInsight]()),
		endpoint.New("GET /mesh-insights", h.meshInsights, "Counts of what is in each mesh", endpoint.Lists[kuma.MeshInsight]()),
		endpoint.New("GET /mesh-insights/{mesh}", h.meshInsight, "Counts of what is in one mesh", endpoint.Says[kuma.MeshInsight]()),
		endpoint.New("GET /meshes/{mesh}/service-insights", h.serviceInsights, "The services of a mesh, with counts of their dataplanes", endpoint.Lists[kuma.ServiceInsight](ofType)),
		endpoint.New("GET /meshes/{mesh}/service-insights/{name}", h.serviceInsight, "One service, with counts of its dataplanes", endpoint.Says[kuma.ServiceInsight]()),
	}
}

// insightsOf summarises a mesh and its services.
func (h *sidecarHandlers) insightsOf(snapshot *api.Snapshot, mesh *api.Object) (kuma.MeshInsight, []kuma.ServiceInsight) {
	insight, services := h.Census.Insights(h.Catalog, snapshot, mesh)
	h.backends(snapshot, mesh.Name).Name(&insight, services)
	return insight, services
}

// backends are those who sign in a mesh.
func (h *sidecarHandlers) backends(snapshot *api.Snapshot, mesh string) kuma.Backends {
	if h.Roots == nil {
		return kuma.Backends{}
	}
	return kuma.BackendsOf(h.Catalog, snapshot, h.Roots(mesh))
}

func (h *sidecarHandlers) meshInsights(w http.ResponseWriter, r *http.Request) error {
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	all := []kuma.MeshInsight{}
	for mesh := range snapshot.OfKind(api.KindMesh) {
		insight, _ := h.insightsOf(snapshot, mesh)
		all = append(all, insight)
	}
	p, err := objects.PageOf(r, all, func(x kuma.MeshInsight) string { return x.Name })
	return httpapi.Reply(w, p, err)
}

func (h *sidecarHandlers) meshInsight(w http.ResponseWriter, r *http.Request) error {
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
func (h *sidecarHandlers) services(r *http.Request) ([]kuma.ServiceInsight, error) {
	if err := h.MeshKnown(r.PathValue("mesh")); err != nil {
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

var serviceTypes = []string{kuma.Internal, kuma.External, kuma.GatewayBuiltin, kuma.GatewayDelegated}

func (h *sidecarHandlers) serviceInsights(w http.ResponseWriter, r *http.Request) error {
	all, err := h.services(r)
	if err != nil {
		return err
	}
	if want := r.URL.Query().Get("type"); want != "" {
		if !slices.Contains(serviceTypes, want) {
			return httpapi.BadField("type", strconv.Quote(want)+" is no type of services; use "+strings.Join(serviceTypes, ", "))
		}
		all = slices.DeleteFunc(all, func(x kuma.ServiceInsight) bool { return x.ServiceType != want })
	}
	p, err := objects.PageOf(r, all, func(x kuma.ServiceInsight) string { return x.Name })
	return httpapi.Reply(w, p, err)
}

func (h *sidecarHandlers) serviceInsight(w http.ResponseWriter, r *http.Request) error {
	all, err := h.services(r)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(x kuma.ServiceInsight) bool { return x.Name == r.PathValue("name") })
	if i < 0 {
		return httpapi.NotFound()
	}
	all[i].Type = "ServiceInsight"
	httpapi.Answer(w, http.StatusOK, all[i])
	return nil
}

// counts are dataplanes or services, with zeros.
type counts struct {
	Total   int `json:"total"`
	Online  int `json:"online"`
	Offline int `json:"offline"`
	Partial int `json:"partiallyDegraded"`
}

func (c *counts) add(n kuma.Counts) {
	c.Total, c.Online, c.Offline, c.Partial = c.Total+n.Total, c.Online+n.Online, c.Offline+n.Offline, c.Partial+n.PartiallyDegraded
}

// total is a count, also of nothing.
type total struct {
	Total int `json:"total"`
}

// globalInsight is the answer of GET /global-insight.
type globalInsight struct {
	Created    time.Time             `json:"createdAt"`
	Meshes     total                 `json:"meshes"`
	Policies   total                 `json:"policies"`
	Resources  map[string]kuma.Total `json:"resources"`
	Dataplanes map[string]*counts    `json:"dataplanes"` // by class: standard, gatewayDelegated, gatewayBuiltin
	Services   map[string]*counts    `json:"services"`   // by class: internal, external, gatewayDelegated, gatewayBuiltin
	Zones      zoneCounts            `json:"zones"`
}

// zoneCounts are the parts of zones, of which this control plane is the only one.
type zoneCounts struct {
	ControlPlanes counts `json:"controlPlanes"`
	Ingresses     counts `json:"zoneIngresses"`
	Egresses      counts `json:"zoneEgresses"`
}

func (h *sidecarHandlers) globalInsight(w http.ResponseWriter, r *http.Request) error {
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	resources, ofPolicies := map[string]kuma.Total{}, 0
	for _, t := range h.Catalog.Types() {
		n := snapshot.CountOfKind(t.Name)
		if n > 0 {
			resources[t.Name] = kuma.Total{Total: n}
		}
		if t.Policy {
			ofPolicies += n
		}
	}
	planes := map[string]*counts{"standard": {}, "gatewayDelegated": {}, "gatewayBuiltin": {}}
	services := map[string]*counts{kuma.Internal: {}, kuma.External: {}, "gatewayDelegated": {}, "gatewayBuiltin": {}}
	for mesh := range snapshot.OfKind(api.KindMesh) {
		insight, all := h.Census.Insights(h.Catalog, snapshot, mesh)
		for class, n := range insight.ByType {
			if planes[class] != nil {
				planes[class].add(n)
			}
		}
		for _, x := range all {
			services[kuma.GlobalClass(x.ServiceType)].add(kuma.Of(x.Status))
		}
	}
	httpapi.Answer(w, http.StatusOK, globalInsight{Created: time.Now().UTC().Truncate(time.Second), Meshes: total{snapshot.CountOfKind(api.KindMesh)}, Policies: total{ofPolicies},
		Resources: resources, Dataplanes: planes, Services: services, Zones: zoneCounts{ControlPlanes: counts{Total: 1, Online: 1}}})
	return nil
}
