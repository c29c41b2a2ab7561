package documents

import (
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
)

// list answers one page of the objects that the path names.
func (h *Handlers) list(w http.ResponseWriter, r *http.Request) error {
	t, ok := h.Catalog.ByPlural(r.PathValue("plural"))
	mesh := r.PathValue("mesh")
	_, empty := h.IsUnsupported(r)
	if !empty && (!ok || t.Global && mesh != "") {
		return h.NotFound(r)
	}
	if err := h.CheckMesh(mesh); err != nil {
		return err
	}
	if empty {
		return objects.Nothing(w)
	}
	return h.listed(w, r, t, mesh)
}

func (h *Handlers) listOf(kind string) endpoint.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, _ := h.Catalog.Type(kind)
		return h.listed(w, r, t, "")
	}
}

func (h *Handlers) listed(w http.ResponseWriter, r *http.Request, t api.Type, mesh string) error {
	if r.URL.Query().Get("format") == "written" {
		return h.Page(w, r, t.Name, mesh, func(p *httpapi.PrintedPage, o *api.Object) error { return p.AddText(h.written(r, o)) })
	}
	return h.Page(w, r, t.Name, mesh, func(p *httpapi.PrintedPage, o *api.Object) error { return p.AddText(h.item(r.Context(), o, nil)) })
}
