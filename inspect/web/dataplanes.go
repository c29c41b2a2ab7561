package web

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/resolve"
)

// sidecarHandlers answer how far dataplanes follow, and count them.
type sidecarHandlers struct {
	*objects.Source
	Sidecars Sidecars
	Census   Census
	// Secured is what the sidecar of a dataplane tells of its certificate; nil where nobody knows.
	Secured func(api.Ref) (mtls.Secured, bool)
	// Roots are those of the authorities of a mesh; nil where none are kept.
	Roots func(mesh string) []mtls.Root
	// InstanceID is this control plane.
	InstanceID string
}

func (h *sidecarHandlers) dataplaneRoutes() []endpoint.Endpoint {
	const dp = "/meshes/{mesh}/dataplanes"
	return []endpoint.Endpoint{
		endpoint.New("GET "+dp+"/_overview", h.overviews, "All dataplanes with the state of their sidecars", endpoint.Lists[overview](endpoint.ByLabels, endpoint.ByTags, endpoint.ByGateway)),
		endpoint.New("GET /dataplanes/_overview", h.overviews, "The same in all meshes", endpoint.Lists[overview](endpoint.ByLabels, endpoint.ByTags, endpoint.ByGateway)),
		endpoint.New("GET /meshes/{mesh}/dataplanes+insights", h.overviews, "The same, in the older place", endpoint.Lists[overview](endpoint.ByLabels, endpoint.ByTags, endpoint.ByGateway)),
		endpoint.New("GET "+dp+"/{name}/_overview", h.overview, "One dataplane with the state of its sidecar", endpoint.Says[overview](endpoint.InNamespace)),
		endpoint.New("GET /meshes/{mesh}/dataplanes+insights/{name}", h.overview, "The same, in the older place", endpoint.Says[overview](endpoint.InNamespace)),
		endpoint.New("GET /meshes/{mesh}/_sidecars", h.sidecars, "All dataplanes of a mesh with how far each follows, in short", endpoint.Says[sidecarPage](endpoint.PageSize, endpoint.PageOffset, endpoint.PartOfName, byState, endpoint.ByLabels, endpoint.ByTags, endpoint.ByGateway)),
	}
}

// Stream is what the API shows of the sidecar of one dataplane.
type Stream struct {
	Connected       bool
	Since           time.Time // it connected
	Until           time.Time // it went; zero while it is connected
	Protocol        string    // delta, sotw
	Client, Version string    // envoy, 1.40.0
	Agent           string    // version of the program that runs the client; may be unknown
	Types           map[string]Counters
	Note            string // what keeps it without its configuration
	ControlPlane    string // name of the replica that has the stream; empty for this one
}

// Counters are numbers of responses of one type: cds, eds, lds, rds.
type Counters struct{ Sent, Acked, Nacked uint64 }

// overview is Kuma's view of a dataplane and its sidecar.
type overview struct {
	Type     string            `json:"type"`
	Mesh     string            `json:"mesh"`
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels"`
	Created  time.Time         `json:"creationTime"`
	Modified time.Time         `json:"modificationTime"`
	KRI      string            `json:"kri"`
	Plane    api.Spec          `json:"dataplane"`
	Insight  *insight          `json:"dataplaneInsight,omitempty"`
}

type insight struct {
	MTLS          *kuma.Certified `json:"mTLS,omitempty"`
	Subscriptions []subscription  `json:"subscriptions"`
}

type subscription struct {
	ID             string     `json:"id"`
	ControlPlane   string     `json:"controlPlaneInstanceId"`
	ConnectTime    *time.Time `json:"connectTime,omitempty"`
	DisconnectTime *time.Time `json:"disconnectTime,omitempty"`
	// Version is of kumaDp, the agent, and of the client, such as envoy.
	Version map[string]program `json:"version"`
	Status  discovery          `json:"status"`
}

// program is what runs beside a workload.
type program struct {
	Version string `json:"version"`
}

// discovery is how far a client of ADS follows.
type discovery struct {
	Updated time.Time `json:"lastUpdateTime"`
	Total   counters  `json:"total"`
	CDS     counters  `json:"cds"`
	EDS     counters  `json:"eds"`
	LDS     counters  `json:"lds"`
	RDS     counters  `json:"rds"`
	// Note is what keeps it without its configuration.
	Note string `json:"note,omitempty"`
}

// counters are JSON strings, as protobuf writes large numbers.
type counters struct {
	Sent  string `json:"responsesSent"`
	Acked string `json:"responsesAcknowledged"`
	Nack  string `json:"responsesRejected"`
}

// overviewOf is the view of one dataplane of a snapshot.
func (h *sidecarHandlers) overviewOf(snapshot *api.Snapshot, o *api.Object) overview {
	l := h.Catalog.Shown(o)
	v := overview{Type: "DataplaneOverview", Mesh: o.Mesh, Name: o.FullName(), Labels: l.Labels, Created: o.Created, Modified: o.Modified, KRI: h.Catalog.KRI(l), Plane: o.Spec}
	st, ok := h.Sidecars.Stream(o.Ref)
	if !ok {
		return v
	}
	by := cmp.Or(st.ControlPlane, h.InstanceID)
	sub := subscription{ID: by + "-" + o.Name, ControlPlane: by,
		ConnectTime: &st.Since,
		Version:     map[string]program{"kumaDp": {cmp.Or(st.Agent, "unknown")}, st.Client: {st.Version}}}
	if !st.Connected {
		sub.DisconnectTime = &st.Until
	}
	sub.Status = discovery{Updated: st.Since, Note: st.Note}
	var sum Counters
	for t, into := range map[string]*counters{"cds": &sub.Status.CDS, "eds": &sub.Status.EDS, "lds": &sub.Status.LDS, "rds": &sub.Status.RDS} {
		c := st.Types[t]
		sum = Counters{sum.Sent + c.Sent, sum.Acked + c.Acked, sum.Nacked + c.Nacked}
		*into = c.text()
	}
	sub.Status.Total = sum.text()
	v.Insight = &insight{Subscriptions: []subscription{sub}}
	if h.Secured != nil {
		if known, ok := h.Secured(o.Ref); ok {
			v.Insight.MTLS = h.backends(snapshot, o.Mesh).Certified(known)
		}
	}
	return v
}

func (c Counters) text() counters {
	return counters{strconv.FormatUint(c.Sent, 10), strconv.FormatUint(c.Acked, 10), strconv.FormatUint(c.Nacked, 10)}
}

func (h *sidecarHandlers) overviews(w http.ResponseWriter, r *http.Request) error {
	mesh := r.PathValue("mesh")
	if err := h.MeshKnown(mesh); err != nil {
		return err
	}
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	return h.Page(w, r, api.KindDataplane, mesh, func(p *httpapi.PrintedPage, o *api.Object) error { return p.Add(h.overviewOf(snapshot, o)) })
}

func (h *sidecarHandlers) overview(w http.ResponseWriter, r *http.Request) error {
	snapshot := h.SnapshotOf(r.Context(), api.KindDataplane)
	o, ok := snapshot.Get(h.RefOf(r, api.KindDataplane))
	if !ok {
		return httpapi.NotFound()
	}
	httpapi.Answer(w, http.StatusOK, h.overviewOf(snapshot, o))
	return nil
}

// metas answers a page of the heads of objects.
func (h *questionHandlers) metas(w http.ResponseWriter, r *http.Request, m *resolve.Reader, all []api.Ref) error {
	p, err := objects.PageOf(r, all, api.Ref.FullName)
	if err != nil {
		return err
	}
	httpapi.Answer(w, http.StatusOK, httpapi.Page[*kuma.Meta]{Total: p.Total, Items: kuma.Metas(m, h.Catalog, p.Items), Next: p.Next})
	return nil
}

func (h *questionHandlers) serviceDataplanes(w http.ResponseWriter, r *http.Request) error {
	t, err := h.TypeAt(r)
	if err != nil {
		return err
	}
	if t.Name != api.KindMeshService {
		return httpapi.BadField("type", t.Name+" has no dataplanes; ask about a MeshService")
	}
	m, ref, err := h.ReaderAt(r, t.Name)
	if err != nil {
		return err
	}
	list, err := kuma.ServiceDataplanes(m, ref)
	if err != nil {
		return httpapi.Unknown(err)
	}
	return h.metas(w, r, m, list)
}

func (h *questionHandlers) hostnames(w http.ResponseWriter, r *http.Request) error {
	t, err := h.TypeAt(r)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(t.Name, "Mesh") || !strings.HasSuffix(t.Name, "Service") {
		return httpapi.BadField("type", t.Name+" has no hostnames; ask about a service")
	}
	m, ref, err := h.ReaderAt(r, t.Name)
	if err != nil {
		return err
	}
	list, err := kuma.Hostnames(m, ref, h.Zone)
	return httpapi.Reply(w, list, err)
}

// ofDataplane answers a question about one dataplane.
func (h *questionHandlers) ofDataplane(ask func(*http.Request, *resolve.Reader, api.Ref) (any, error)) endpoint.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		m, ref, err := h.ReaderAt(r, api.KindDataplane)
		if err != nil {
			return err
		}
		v, err := ask(r, m, ref)
		return httpapi.Reply(w, v, err)
	}
}

// ofPort answers a question about an inbound or outbound of a dataplane, or about
// a route of one, which the path names by their KRIs.
func (h *questionHandlers) ofPort(ask func(*http.Request, *resolve.Reader, api.Ref) (any, error)) endpoint.Handler {
	return h.ofDataplane(func(r *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
		for _, name := range []string{"kri", "route"} {
			if text := r.PathValue(name); text != "" {
				if err := kuma.CheckKRI(h.Catalog, text); err != nil {
					return nil, httpapi.BadField(name, err.Error())
				}
			}
		}
		return ask(r, m, dp)
	})
}

// viewRoutes are Kuma's views of what applies to a dataplane.
func (h *questionHandlers) viewRoutes() []endpoint.Endpoint {
	const dp = "GET /meshes/{mesh}/dataplanes/{name}"
	return []endpoint.Endpoint{
		endpoint.New(dp+"/_rules", h.ofDataplane(func(_ *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.Rules(m, h.Catalog, dp)
		}),
			"All rules of a dataplane", endpoint.Says[kuma.RulesView](endpoint.InNamespace)),
		endpoint.New(dp+"/rules", h.ofDataplane(func(_ *http.Request, m *resolve.Reader, dp api.Ref) (any, error) { return kuma.Legacy(m, dp) }),
			"All rules of a dataplane, in the older form, with the matches of routes", endpoint.Says[kuma.LegacyRules](endpoint.InNamespace)),
		endpoint.New(dp+"/policies", h.ofDataplane(func(_ *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.Matched(m, h.Catalog, dp)
		}), "The policies and routes that take part on a dataplane, in the older form", endpoint.Says[kuma.InspectedDataplane](endpoint.InNamespace)),
		endpoint.New(dp+"/_layout", h.ofDataplane(func(_ *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.LayoutOf(m, h.Catalog, dp)
		}),
			"The listeners of a dataplane", endpoint.Says[kuma.Layout](endpoint.InNamespace)),
		endpoint.New(dp+"/_policies", h.ofDataplane(func(_ *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.DataplanePolicies(m, dp)
		}),
			"Policies of the dataplane as a whole", endpoint.Says[kuma.PolicyList](endpoint.InNamespace)),
		endpoint.New(dp+"/_inbounds/{kri}/_policies", h.ofPort(func(r *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.InboundPolicies(m, h.Catalog, dp, r.PathValue("kri"))
		}), "Policies of one inbound", endpoint.Says[kuma.PolicyList](endpoint.InNamespace)),
		endpoint.New(dp+"/_outbounds/{kri}/_policies", h.ofPort(func(r *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.OutboundPolicies(m, h.Catalog, dp, r.PathValue("kri"), "")
		}), "Policies of one outbound", endpoint.Says[kuma.PolicyList](endpoint.InNamespace)),
		endpoint.New(dp+"/_outbounds/{kri}/_routes", h.ofPort(func(r *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.Routes(m, h.Catalog, dp, r.PathValue("kri"))
		}), "Routes of one outbound", endpoint.Says[kuma.RouteList](endpoint.InNamespace)),
		endpoint.New(dp+"/_outbounds/{kri}/_routes/{route}/_policies", h.ofPort(func(r *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.OutboundPolicies(m, h.Catalog, dp, r.PathValue("kri"), r.PathValue("route"))
		}), "Policies of one route of an outbound", endpoint.Says[kuma.PolicyList](endpoint.InNamespace)),
		endpoint.New("GET /meshes/{mesh}/{plural}/{name}/_dataplanes", h.serviceDataplanes, "The dataplanes of a service", endpoint.Lists[*kuma.Meta](endpoint.InNamespace)),
		endpoint.New("GET /meshes/{mesh}/{plural}/{name}/_hostnames", h.hostnames, "The hostnames of a service", endpoint.Says[kuma.HostnameList](endpoint.InNamespace)),
	}
}
