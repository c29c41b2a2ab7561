package web

import (
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

func (s *server) dataplaneRoutes() []endpoint {
	const dp = "/meshes/{mesh}/dataplanes"
	return []endpoint{
		{"GET " + dp + "/_overview", s.overviews, "All dataplanes with the state of their sidecars"},
		{"GET /dataplanes/_overview", s.overviews, "The same in all meshes"},
		{"GET /meshes/{mesh}/dataplanes+insights", s.overviews, "The same, in the older place"},
		{"GET " + dp + "/{name}/_overview", s.overview, "One dataplane with the state of its sidecar"},
		{"GET /meshes/{mesh}/dataplanes+insights/{name}", s.overview, "The same, in the older place"},
		{"GET /meshes/{mesh}/{plural}/{name}/_dataplanes", s.serviceDataplanes, "The dataplanes of a service"},
		{"GET /meshes/{mesh}/{plural}/{name}/_hostnames", s.hostnames, "The hostnames of a service"},
	}
}

// Stream is what the API shows of the sidecar of one dataplane.
type Stream struct {
	Connected       bool
	Since           time.Time // it connected, or went
	Protocol        string    // delta, sotw
	Client, Version string    // envoy, 1.40.0
	Types           map[string]Counters
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
	Subscriptions []subscription `json:"subscriptions"`
}

type subscription struct {
	ID             string         `json:"id"`
	ControlPlane   string         `json:"controlPlaneInstanceId"`
	ConnectTime    *time.Time     `json:"connectTime,omitempty"`
	DisconnectTime *time.Time     `json:"disconnectTime,omitempty"`
	Version        map[string]any `json:"version"`
	Status         map[string]any `json:"status"`
}

// counters are JSON strings, as protobuf writes large numbers.
type counters struct {
	Sent  string `json:"responsesSent"`
	Acked string `json:"responsesAcknowledged"`
	Nack  string `json:"responsesRejected"`
}

func (s *server) overviewOf(o *api.Object) overview {
	l := s.labelled(o)
	v := overview{Type: "DataplaneOverview", Mesh: o.Mesh, Name: o.Name, Labels: l.Labels, Created: o.Created, Modified: o.Modified, KRI: s.Catalog.KRI(l), Plane: o.Spec}
	st, ok := s.Sidecars.Stream(o.Ref)
	if !ok {
		return v
	}
	sub := subscription{ID: s.About.InstanceID + "-" + o.Name, ControlPlane: s.About.InstanceID,
		Version: map[string]any{"kumaDp": map[string]any{"version": s.About.Version}, st.Client: map[string]any{"version": st.Version}}}
	if st.Connected {
		sub.ConnectTime = &st.Since
	} else {
		sub.DisconnectTime = &st.Since
	}
	var sum Counters
	sub.Status = map[string]any{"lastUpdateTime": st.Since}
	for _, t := range []string{"cds", "eds", "lds", "rds"} {
		c := st.Types[t]
		sum = Counters{sum.Sent + c.Sent, sum.Acked + c.Acked, sum.Nacked + c.Nacked}
		sub.Status[t] = c.text()
	}
	sub.Status["total"] = sum.text()
	v.Insight = &insight{[]subscription{sub}}
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
	snapshot := s.Documents.Snapshot()
	objects := snapshot.OfKind(api.KindDataplane)
	if mesh != "" {
		objects = snapshot.Of(api.KindDataplane, mesh)
	}
	return s.page(w, r, objects, func(o *api.Object) ([]byte, error) { return json.Marshal(s.overviewOf(o)) })
}

func (s *server) overview(w http.ResponseWriter, r *http.Request) error {
	o, ok := s.Documents.Snapshot().Get(api.Ref{Kind: api.KindDataplane, Mesh: r.PathValue("mesh"), Name: r.PathValue("name")})
	if !ok {
		return missing()
	}
	answer(w, http.StatusOK, s.overviewOf(o))
	return nil
}

// metas answers a page of the heads of objects.
func (s *server) metas(w http.ResponseWriter, r *http.Request, snapshot *api.Snapshot, refs []api.Ref) error {
	var objects iter.Seq[*api.Object] = func(yield func(*api.Object) bool) {
		for _, ref := range refs {
			if o, ok := snapshot.Get(ref); ok && !yield(o) {
				return
			}
		}
	}
	return s.page(w, r, objects, func(o *api.Object) ([]byte, error) { return json.Marshal(s.meta(o)) })
}

func (s *server) serviceDataplanes(w http.ResponseWriter, r *http.Request) error {
	t, err := s.typeAt(r)
	if err != nil {
		return err
	}
	if t.Name != api.KindMeshService {
		return badField("type", t.Name+" has no dataplanes; ask about a MeshService")
	}
	m, ref, err := s.asked(r, t.Name)
	if err != nil {
		return err
	}
	o, ok := m.Snapshot().Get(ref)
	if !ok {
		return missing()
	}
	return s.metas(w, r, m.Snapshot(), members(m.Snapshot(), o))
}

// members are the dataplanes that a service selects.
func members(snapshot *api.Snapshot, o *api.Object) []api.Ref {
	service, ok := o.Spec.(*api.MeshService)
	if !ok || service.Selector == nil {
		return nil
	}
	var out []api.Ref
	for dp := range snapshot.Of(api.KindDataplane, o.Mesh) {
		if selects(service.Selector, dp) {
			out = append(out, dp.Ref)
		}
	}
	return out
}

func selects(by *api.ServiceSelector, dp *api.Object) bool {
	switch {
	case by.DataplaneRef != nil:
		return by.DataplaneRef.Name == dp.Name
	case by.DataplaneLabels != nil:
		return len(by.DataplaneLabels.MatchLabels) > 0 && matcher.Labels(by.DataplaneLabels.MatchLabels, dp.Labels, dp.DisplayName())
	}
	spec, ok := dp.Spec.(*api.Dataplane)
	return ok && len(by.DataplaneTags) > 0 && spec.Networking != nil &&
		slices.ContainsFunc(spec.Networking.Inbound, func(i api.Inbound) bool { return matcher.Tags(by.DataplaneTags, i.Tags) })
}

func (s *server) hostnames(w http.ResponseWriter, r *http.Request) error {
	ref, err := s.refAt(r)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(ref.Kind, "Mesh") || !strings.HasSuffix(ref.Kind, "Service") {
		return badField("type", ref.Kind+" has no hostnames; ask about a service")
	}
	o, ok := s.Documents.Snapshot().Get(ref)
	if !ok {
		return missing()
	}
	items := []any{}
	if status, ok := o.Status.(*api.ServiceStatus); ok {
		for _, a := range status.Addresses {
			items = append(items, map[string]any{"hostname": a.Hostname, "zones": []any{map[string]string{"name": s.Zone}}})
		}
	}
	answer(w, http.StatusOK, map[string]any{"total": len(items), "items": items})
	return nil
}
