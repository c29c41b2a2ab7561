package web

import (
	"net/http"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/resolve"
)

// Security is what is known at run time of certificates and of connections of sidecars.
type Security interface {
	// Secured is what the sidecar of a dataplane tells; false where it has told nothing.
	Secured(api.Ref) (mtls.Secured, bool)
	// Unproven is why the sidecar of a dataplane would get no certificate of the names that a model
	// gives it; not ok where nothing is known to keep it from one.
	Unproven(m *resolve.Model, dp api.Ref) (api.IdentityRefusal, bool)
}

// mtls answers how far a mesh is on the way to mutual TLS.
func (s *server) mtls(w http.ResponseWriter, r *http.Request) error {
	q, err := s.reader(r.Context())
	if err != nil {
		return err
	}
	query := r.URL.Query()
	sel, err := selectionOf(query)
	if err != nil {
		return err
	}
	part := inspect.Part{Offset: sel.offset, Size: sel.size, Name: sel.name}
	if query.Get(statusSize.name) == "" {
		part.Size = 0
	}
	mesh := r.PathValue("mesh")
	out, err := mtls.Of(q, mesh, part, s.securedBy(mesh))
	if err != nil {
		return unknown(err)
	}
	if end := part.Offset + len(out.Items); len(out.Items) > 0 && end < out.Total {
		next := nextPage(r, end)
		out.Next = &next
	}
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}

// securedBy is what is known of a mesh at run time; nothing where nobody keeps it.
func (s *server) securedBy(mesh string) mtls.SecuredBy {
	by := mtls.SecuredBy{Now: time.Now(), Sidecar: s.Sidecars.Sidecar, Secured: func(api.Ref) (mtls.Secured, bool) { return mtls.Secured{}, false }}
	if s.Security != nil {
		by.Secured = s.Security.Secured
	}
	if s.Authorities != nil {
		by.Authorities = s.Authorities.Authorities(mesh)
	}
	return by
}

// plaintextClients are warnings on written objects after which somebody is refused who calls in
// plain text.
func (s *server) plaintextClients(m *resolve.Model, objects []*api.Object) []*api.Violation {
	if m == nil || s.Security == nil {
		return nil
	}
	return mtls.PlaintextClients(s.readerOf(m, nil), objects, time.Now(), s.Security.Secured)
}

// refusedBySwitch are warnings on planned objects after which dataplanes are refused, certificates or
// as callers.
func (s *server) refusedBySwitch(o outcome, objects []*api.Object) []*api.Violation {
	if o.step == nil || s.Security == nil {
		return nil
	}
	return mtls.RefusedBySwitch(s.readerOf(o.step.Before, nil), s.readerOf(o.step.After, nil), objects, func(dp api.Ref) (api.IdentityRefusal, bool) {
		return s.Security.Unproven(o.step.After, dp)
	})
}
