package certificates

import (
	"net/http"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/resolve"
)

// Security is what is known at run time of certificates and of connections of sidecars.
type Security interface {
	// Secured is what the sidecar of a dataplane tells; false where it has told nothing.
	Secured(api.Ref) (mtls.Observed, bool)
	// Unproven is why the sidecar of a dataplane would get no certificate of the names that a model
	// gives it; not ok where nothing is known to keep it from one.
	Unproven(m *resolve.Model, dp api.Ref) (api.IdentityRefusal, bool)
}

// mtls answers how far a mesh is on the way to mutual TLS.
func (h *Handlers) mtls(w http.ResponseWriter, r *http.Request) error {
	q, err := h.Reader(r.Context())
	if err != nil {
		return err
	}
	query := r.URL.Query()
	sel, err := objects.SelectionOf(query)
	if err != nil {
		return err
	}
	part := inspect.ListOptions{Offset: sel.Offset, Size: sel.Size, Name: sel.Name}
	if query.Get(endpoint.StatusSize.Name) == "" {
		part.Size = 0
	}
	mesh := r.PathValue("mesh")
	out, err := mtls.Of(q, mesh, part, h.observedBy(mesh))
	if err != nil {
		return httpapi.Unknown(err)
	}
	if end := part.Offset + len(out.Items); len(out.Items) > 0 && end < out.Total {
		next := objects.NextPage(r, end)
		out.Next = &next
	}
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// observedBy is what is known of a mesh at run time; nothing where nobody keeps it.
func (h *Handlers) observedBy(mesh string) mtls.ObservedBy {
	by := mtls.ObservedBy{Now: time.Now(), Sidecar: h.Sidecars.Sidecar, Observed: func(api.Ref) (mtls.Observed, bool) { return mtls.Observed{}, false }}
	if h.Security != nil {
		by.Observed = h.Security.Secured
	}
	if h.Authorities != nil {
		by.Authorities = h.Authorities.Authorities(mesh)
	}
	return by
}
