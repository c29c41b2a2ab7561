package sidecars

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/kuma/insights"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
)

// Handlers answer how far dataplanes follow, and count them.
type Handlers struct {
	*objects.Finder
	Sidecars    Sidecars
	FleetCounts FleetCounts
	// Observed is what the sidecar of a dataplane tells of its certificate; nil where nobody knows.
	Observed func(api.Ref) (mtls.Observed, bool)
	// Roots are those of the authorities of a mesh; nil where none are kept.
	Roots func(mesh string) []mtls.Root
	// InstanceID is this control plane.
	InstanceID string
}

// Endpoints are overviews of dataplanes, with the state of their sidecars, and insights.
func (h *Handlers) Endpoints() []endpoint.Operation {
	const dp = "/meshes/{mesh}/dataplanes"
	return []endpoint.Operation{
		endpoint.New("GET "+dp+"/_overview", h.overviews, "All dataplanes with the state of their sidecars", endpoint.Lists[dataplaneOverview](endpoint.ByLabels, endpoint.ByTags, endpoint.ByGateway)),
		endpoint.New("GET /dataplanes/_overview", h.overviews, "The same in all meshes", endpoint.Lists[dataplaneOverview](endpoint.ByLabels, endpoint.ByTags, endpoint.ByGateway)),
		endpoint.New("GET /meshes/{mesh}/dataplanes+insights", h.overviews, "The same, in the older place", endpoint.Lists[dataplaneOverview](endpoint.ByLabels, endpoint.ByTags, endpoint.ByGateway)),
		endpoint.New("GET "+dp+"/{name}/_overview", h.overview, "One dataplane with the state of its sidecar", endpoint.Says[dataplaneOverview](endpoint.InNamespace)),
		endpoint.New("GET /meshes/{mesh}/dataplanes+insights/{name}", h.overview, "The same, in the older place", endpoint.Says[dataplaneOverview](endpoint.InNamespace)),
		endpoint.New("GET /meshes/{mesh}/_sidecars", h.sidecars, "All dataplanes of a mesh with how far each follows, in short", endpoint.Says[sidecarList](endpoint.PageSize, endpoint.PageOffset, endpoint.PartOfName, byState, endpoint.ByLabels, endpoint.ByTags, endpoint.ByGateway)),
		endpoint.New("GET /global-insight", h.globalInsight, "Counts of everything", endpoint.Says[globalInsight]()),
		endpoint.New("GET /mesh-insights", h.meshInsights, "Counts of what is in each mesh", endpoint.Lists[insights.MeshInsight]()),
		endpoint.New("GET /mesh-insights/{mesh}", h.meshInsight, "Counts of what is in one mesh", endpoint.Says[insights.MeshInsight]()),
		endpoint.New("GET /meshes/{mesh}/service-insights", h.serviceInsights, "The services of a mesh, with counts of their dataplanes", endpoint.Lists[insights.ServiceInsight](ofType)),
		endpoint.New("GET /meshes/{mesh}/service-insights/{name}", h.serviceInsight, "One service, with counts of its dataplanes", endpoint.Says[insights.ServiceInsight]()),
	}
}

// dataplaneOverview is Kuma's view of a dataplane and its sidecar.
type dataplaneOverview struct {
	Type     string            `json:"type"`
	Mesh     string            `json:"mesh"`
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels"`
	Created  time.Time         `json:"creationTime"`
	Modified time.Time         `json:"modificationTime"`
	KRI      string            `json:"kri"`
	Plane    api.Spec          `json:"dataplane"`
	Insight  *dataplaneInsight `json:"dataplaneInsight,omitempty"`
}

type dataplaneInsight struct {
	MTLS          *insights.Certified `json:"mTLS,omitempty"`
	Subscriptions []subscription      `json:"subscriptions"`
}

type subscription struct {
	ID             string     `json:"id"`
	ControlPlane   string     `json:"controlPlaneInstanceId"`
	ConnectTime    *time.Time `json:"connectTime,omitempty"`
	DisconnectTime *time.Time `json:"disconnectTime,omitempty"`
	// Version is of kumaDp, the agent, and of the client, such as envoy.
	Version map[string]Program `json:"version"`
	Status  discoveryStatus    `json:"status"`
}

// Program is what runs beside a workload.
type Program struct {
	Version string `json:"version"`
}

// discoveryStatus is how far a client of ADS follows.
type discoveryStatus struct {
	Updated time.Time       `json:"lastUpdateTime"`
	Total   discoveryCounts `json:"total"`
	CDS     discoveryCounts `json:"cds"`
	EDS     discoveryCounts `json:"eds"`
	LDS     discoveryCounts `json:"lds"`
	RDS     discoveryCounts `json:"rds"`
	// Note is what keeps it without its configuration.
	Note string `json:"note,omitempty"`
}

// discoveryCounts are JSON strings, as protobuf writes large numbers.
type discoveryCounts struct {
	Sent  string `json:"responsesSent"`
	Acked string `json:"responsesAcknowledged"`
	Nack  string `json:"responsesRejected"`
}

// overviewOf is the view of one dataplane of a snapshot.
func (h *Handlers) overviewOf(snapshot *snapshot.Snapshot, o *api.Object) dataplaneOverview {
	l := h.Catalog.Shown(o)
	v := dataplaneOverview{Type: "DataplaneOverview", Mesh: o.Mesh, Name: o.FullName(), Labels: l.Labels, Created: o.Created, Modified: o.Modified, KRI: h.Catalog.KRI(l), Plane: o.Spec}
	st, ok := h.Sidecars.Stream(o.Ref)
	if !ok {
		return v
	}
	by := cmp.Or(st.ControlPlane, h.InstanceID)
	sub := subscription{ID: by + "-" + o.Name, ControlPlane: by,
		ConnectTime: &st.Since,
		Version:     map[string]Program{"kumaDp": {cmp.Or(st.Agent, "unknown")}, st.Client: {st.Version}}}
	if !st.Connected {
		sub.DisconnectTime = &st.Until
	}
	sub.Status = discoveryStatus{Updated: st.Since, Note: st.Note}
	var sum Counters
	for t, into := range map[string]*discoveryCounts{"cds": &sub.Status.CDS, "eds": &sub.Status.EDS, "lds": &sub.Status.LDS, "rds": &sub.Status.RDS} {
		c := st.Types[t]
		sum = Counters{sum.Sent + c.Sent, sum.Acked + c.Acked, sum.Nacked + c.Nacked}
		*into = c.text()
	}
	sub.Status.Total = sum.text()
	v.Insight = &dataplaneInsight{Subscriptions: []subscription{sub}}
	if h.Observed != nil {
		if known, ok := h.Observed(o.Ref); ok {
			v.Insight.MTLS = h.backends(snapshot, o.Mesh).Certified(known)
		}
	}
	return v
}

func (c Counters) text() discoveryCounts {
	return discoveryCounts{strconv.FormatUint(c.Sent, 10), strconv.FormatUint(c.Acked, 10), strconv.FormatUint(c.Nacked, 10)}
}

func (h *Handlers) overviews(w http.ResponseWriter, r *http.Request) error {
	mesh := r.PathValue("mesh")
	if err := h.CheckMesh(mesh); err != nil {
		return err
	}
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	return h.Page(w, r, api.KindDataplane, mesh, func(p *httpapi.PrintedPage, o *api.Object) error { return p.Add(h.overviewOf(snapshot, o)) })
}

func (h *Handlers) overview(w http.ResponseWriter, r *http.Request) error {
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	o, ok := snapshot.Get(h.RefOf(r, api.KindDataplane))
	if !ok {
		return httpapi.NotFound()
	}
	httpapi.Answer(w, http.StatusOK, h.overviewOf(snapshot, o))
	return nil
}
