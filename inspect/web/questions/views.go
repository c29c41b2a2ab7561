package questions

import (
	"net/http"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/resolve"
)

// metas answers a page of the heads of objects.
func (h *Handlers) metas(w http.ResponseWriter, r *http.Request, m *resolve.Reader, all []api.Ref) error {
	p, err := objects.PageOf(r, all, api.Ref.FullName)
	if err != nil {
		return err
	}
	httpapi.Answer(w, http.StatusOK, httpapi.Page[*kuma.Meta]{Total: p.Total, Items: kuma.Metas(m, h.Catalog, p.Items), Next: p.Next})
	return nil
}

func (h *Handlers) serviceDataplanes(w http.ResponseWriter, r *http.Request) error {
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

func (h *Handlers) hostnames(w http.ResponseWriter, r *http.Request) error {
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
func (h *Handlers) ofDataplane(ask func(*http.Request, *resolve.Reader, api.Ref) (any, error)) endpoint.Handler {
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
func (h *Handlers) ofPort(ask func(*http.Request, *resolve.Reader, api.Ref) (any, error)) endpoint.Handler {
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

// viewEndpoints are Kuma's views of what applies to a dataplane.
func (h *Handlers) viewEndpoints() []endpoint.Operation {
	const dp = "GET /meshes/{mesh}/dataplanes/{name}"
	return []endpoint.Operation{
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
			return kuma.DataplanePolicies(m, h.Catalog, dp)
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

// attachable is the object that the path names, which must be a policy or route,
// and the model that holds.
func (h *Handlers) attachable(r *http.Request) (*resolve.Reader, api.Ref, error) {
	t, err := h.TypeAt(r)
	if err != nil {
		return nil, api.Ref{}, err
	}
	if !t.Policy && !t.Route {
		return nil, api.Ref{}, httpapi.ProblemDetails{Status: http.StatusBadRequest, Title: "Bad request", Detail: t.Name + " is neither a policy nor a route; ask about one of those"}
	}
	return h.ReaderAt(r, t.Name)
}

// selected answers a page of the dataplanes that an object selects; those of a
// service are who answers for it.
func (h *Handlers) selected(w http.ResponseWriter, r *http.Request) error {
	if t, _ := h.Catalog.ByPlural(r.PathValue("plural")); t.Name == api.KindMeshService {
		return h.serviceDataplanes(w, r)
	}
	m, list, err := h.selection(r)
	if err != nil {
		return err
	}
	return h.metas(w, r, m, list)
}

func (h *Handlers) selection(r *http.Request) (*resolve.Reader, []api.Ref, error) {
	m, ref, err := h.attachable(r)
	if err != nil {
		return nil, nil, err
	}
	list, err := kuma.Dataplanes(m, ref)
	return m, list, httpapi.Unknown(err)
}

// attached answers the same page in the form of older clients.
func (h *Handlers) attached(w http.ResponseWriter, r *http.Request) error {
	_, list, err := h.selection(r)
	if err != nil {
		return err
	}
	p, err := objects.PageOf(r, list, api.Ref.FullName)
	if err != nil {
		return err
	}
	httpapi.Answer(w, http.StatusOK, httpapi.Page[kuma.AttachedDataplane]{Total: p.Total, Items: kuma.AttachedDataplanes(p.Items), Next: p.Next})
	return nil
}
