package web

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/resolve"
)

func (s *server) dataplaneRoutes() []endpoint {
	const dp = "/meshes/{mesh}/dataplanes"
	return []endpoint{
		{"GET " + dp + "/_overview", s.overviews, "All dataplanes with the state of their sidecars", lists[overview](byLabels, byTags, byGateway)},
		{"GET /dataplanes/_overview", s.overviews, "The same in all meshes", lists[overview](byLabels, byTags, byGateway)},
		{"GET /meshes/{mesh}/dataplanes+insights", s.overviews, "The same, in the older place", lists[overview](byLabels, byTags, byGateway)},
		{"GET " + dp + "/{name}/_overview", s.overview, "One dataplane with the state of its sidecar", says[overview](inNamespace)},
		{"GET /meshes/{mesh}/dataplanes+insights/{name}", s.overview, "The same, in the older place", says[overview](inNamespace)},
		{"GET /meshes/{mesh}/_sidecars", s.sidecars, "All dataplanes of a mesh with how far each follows, in short", says[sidecarPage](pageSize, pageOffset, partOfName, byState, byLabels, byTags, byGateway)},
		{"GET /meshes/{mesh}/{plural}/{name}/_dataplanes", s.serviceDataplanes, "The dataplanes of a service", lists[*kuma.Meta](inNamespace)},
		{"GET /meshes/{mesh}/{plural}/{name}/_hostnames", s.hostnames, "The hostnames of a service", says[kuma.HostnameList](inNamespace)},
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
func (s *server) overviewOf(snapshot *api.Snapshot, o *api.Object) overview {
	l := s.Catalog.Shown(o)
	v := overview{Type: "DataplaneOverview", Mesh: o.Mesh, Name: o.FullName(), Labels: l.Labels, Created: o.Created, Modified: o.Modified, KRI: s.Catalog.KRI(l), Plane: o.Spec}
	st, ok := s.Sidecars.Stream(o.Ref)
	if !ok {
		return v
	}
	by := cmp.Or(st.ControlPlane, s.About.InstanceID)
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
	if s.Security != nil {
		if known, ok := s.Security.Secured(o.Ref); ok {
			v.Insight.MTLS = s.backends(snapshot, o.Mesh).Certified(known)
		}
	}
	return v
}

func (c Counters) text() counters {
	return counters{strconv.FormatUint(c.Sent, 10), strconv.FormatUint(c.Acked, 10), strconv.FormatUint(c.Nacked, 10)}
}

func (s *server) overviews(w http.ResponseWriter, r *http.Request) error {
	mesh := r.PathValue("mesh")
	if err := s.meshKnown(mesh); err != nil {
		return err
	}
	snapshot := s.there(r.Context(), api.KindDataplane)
	return s.page(w, r, api.KindDataplane, mesh, func(p *httpapi.PrintedPage, o *api.Object) error { return p.Add(s.overviewOf(snapshot, o)) })
}

func (s *server) overview(w http.ResponseWriter, r *http.Request) error {
	snapshot := s.there(r.Context(), api.KindDataplane)
	o, ok := snapshot.Get(s.refOf(r, api.KindDataplane))
	if !ok {
		return httpapi.NotFound()
	}
	httpapi.Answer(w, http.StatusOK, s.overviewOf(snapshot, o))
	return nil
}

// metas answers a page of the heads of objects.
func (s *server) metas(w http.ResponseWriter, r *http.Request, m *resolve.Reader, all []api.Ref) error {
	p, err := pageOf(r, all, api.Ref.FullName)
	if err != nil {
		return err
	}
	httpapi.Answer(w, http.StatusOK, httpapi.Page[*kuma.Meta]{Total: p.Total, Items: kuma.Metas(m, s.Catalog, p.Items), Next: p.Next})
	return nil
}

func (s *server) serviceDataplanes(w http.ResponseWriter, r *http.Request) error {
	t, err := s.typeAt(r)
	if err != nil {
		return err
	}
	if t.Name != api.KindMeshService {
		return httpapi.BadField("type", t.Name+" has no dataplanes; ask about a MeshService")
	}
	m, ref, err := s.asked(r, t.Name)
	if err != nil {
		return err
	}
	list, err := kuma.ServiceDataplanes(m, ref)
	if err != nil {
		return unknown(err)
	}
	return s.metas(w, r, m, list)
}

func (s *server) hostnames(w http.ResponseWriter, r *http.Request) error {
	t, err := s.typeAt(r)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(t.Name, "Mesh") || !strings.HasSuffix(t.Name, "Service") {
		return httpapi.BadField("type", t.Name+" has no hostnames; ask about a service")
	}
	m, ref, err := s.asked(r, t.Name)
	if err != nil {
		return err
	}
	list, err := kuma.Hostnames(m, ref, s.Zone.Name)
	return s.reply(w, list, err)
}

// ofDataplane answers a question about one dataplane.
func (s *server) ofDataplane(ask func(*http.Request, *resolve.Reader, api.Ref) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		m, ref, err := s.asked(r, api.KindDataplane)
		if err != nil {
			return err
		}
		v, err := ask(r, m, ref)
		return s.reply(w, v, err)
	}
}

// ofPort answers a question about an inbound or outbound of a dataplane, or about
// a route of one, which the path names by their KRIs.
func (s *server) ofPort(ask func(*http.Request, *resolve.Reader, api.Ref) (any, error)) handler {
	return s.ofDataplane(func(r *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
		for _, name := range []string{"kri", "route"} {
			if text := r.PathValue(name); text != "" {
				if err := kuma.CheckKRI(s.Catalog, text); err != nil {
					return nil, httpapi.BadField(name, err.Error())
				}
			}
		}
		return ask(r, m, dp)
	})
}

// reply answers what package inspect says.
func (s *server) reply(w http.ResponseWriter, v any, err error) error {
	if err != nil {
		return unknown(err)
	}
	httpapi.Answer(w, http.StatusOK, v)
	return nil
}

// viewRoutes are Kuma's views of what applies to a dataplane.
func (s *server) viewRoutes() []endpoint {
	const dp = "GET /meshes/{mesh}/dataplanes/{name}"
	return []endpoint{
		{dp + "/_rules", s.ofDataplane(func(_ *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.Rules(m, s.Catalog, dp)
		}),
			"All rules of a dataplane", says[kuma.RulesView](inNamespace)},
		{dp + "/rules", s.ofDataplane(func(_ *http.Request, m *resolve.Reader, dp api.Ref) (any, error) { return kuma.Legacy(m, dp) }),
			"All rules of a dataplane, in the older form, with the matches of routes", says[kuma.LegacyRules](inNamespace)},
		{dp + "/policies", s.ofDataplane(func(_ *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.Matched(m, s.Catalog, dp)
		}), "The policies and routes that take part on a dataplane, in the older form", says[kuma.InspectedDataplane](inNamespace)},
		{dp + "/_layout", s.ofDataplane(func(_ *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.LayoutOf(m, s.Catalog, dp)
		}),
			"The listeners of a dataplane", says[kuma.Layout](inNamespace)},
		{dp + "/_policies", s.ofDataplane(func(_ *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.DataplanePolicies(m, dp)
		}),
			"Policies of the dataplane as a whole", says[kuma.PolicyList](inNamespace)},
		{dp + "/_inbounds/{kri}/_policies", s.ofPort(func(r *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.InboundPolicies(m, s.Catalog, dp, r.PathValue("kri"))
		}), "Policies of one inbound", says[kuma.PolicyList](inNamespace)},
		{dp + "/_outbounds/{kri}/_policies", s.ofPort(func(r *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.OutboundPolicies(m, s.Catalog, dp, r.PathValue("kri"), "")
		}), "Policies of one outbound", says[kuma.PolicyList](inNamespace)},
		{dp + "/_outbounds/{kri}/_routes", s.ofPort(func(r *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.Routes(m, s.Catalog, dp, r.PathValue("kri"))
		}), "Routes of one outbound", says[kuma.RouteList](inNamespace)},
		{dp + "/_outbounds/{kri}/_routes/{route}/_policies", s.ofPort(func(r *http.Request, m *resolve.Reader, dp api.Ref) (any, error) {
			return kuma.OutboundPolicies(m, s.Catalog, dp, r.PathValue("kri"), r.PathValue("route"))
		}), "Policies of one route of an outbound", says[kuma.PolicyList](inNamespace)},
	}
}
