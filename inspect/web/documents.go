package web

import (
	"context"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/sidecars"
)

// documentHandlers show documents, and have them written.
type documentHandlers struct {
	*objects.Source
	Writes   *changeWriter
	Sidecars sidecars.Sidecars
	// Problems are documents that are not served as they were written.
	Problems func() []*api.Violation
	// Resolving is beside how many dataplanes of a mesh its names resolve; nil where nobody knows.
	Resolving func(mesh string) int
}

func (h *documentHandlers) get(w http.ResponseWriter, r *http.Request) error {
	ref, err := h.RefAt(r)
	if err != nil {
		return err
	}
	return h.show(w, r, ref)
}

func (h *documentHandlers) getMesh(w http.ResponseWriter, r *http.Request) error {
	return h.show(w, r, api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")})
}

// show answers with one object and its conditions.
func (h *documentHandlers) show(w http.ResponseWriter, r *http.Request, ref api.Ref) error {
	o, ok := h.SnapshotOf(r.Context(), ref.Kind).Get(ref)
	if !ok {
		return httpapi.NotFound()
	}
	w.Header().Set("ETag", httpapi.ETag(o))
	switch format := r.URL.Query().Get("format"); format {
	case "", "universal":
	case "written":
		text, err := h.written(r, o)
		if err != nil {
			return err
		}
		httpapi.Write(w, http.StatusOK, "application/json", text)
		return nil
	case "kubernetes", "k8s":
		o, err := h.shown(r.Context(), o)
		if err != nil {
			return err
		}
		text, err := decode.PrintKubernetes(h.Catalog, o)
		if err != nil {
			return err
		}
		httpapi.Write(w, http.StatusOK, "application/json", text)
		return nil
	default:
		return httpapi.BadField("format", "unknown format; use universal, kubernetes or written")
	}
	conditions, err := h.conditionsOf(r.Context(), o)
	if err != nil {
		return err
	}
	text, err := h.item(r.Context(), o, conditions)
	if err != nil {
		return err
	}
	httpapi.Write(w, http.StatusOK, "application/json", text)
	return nil
}

func (h *documentHandlers) byKRI(w http.ResponseWriter, r *http.Request) error {
	kri, err := h.Catalog.ParseKRI(r.PathValue("kri"))
	if err != nil {
		return httpapi.BadField("kri", err.Error())
	}
	o, ok := h.find(r.Context(), kri)
	if !ok {
		return httpapi.NotFound()
	}
	return h.show(w, r, o.Ref)
}

// find is the object that a KRI names.
func (h *documentHandlers) find(ctx context.Context, kri api.KRI) (*api.Object, bool) {
	t, _ := h.Catalog.Find(kri.Short)
	kri.Section = ""
	want := kri.String()
	snapshot := h.SnapshotOf(ctx, t.Name)
	if o, ok := snapshot.Get(api.Ref{Kind: t.Name, Mesh: kri.Mesh, Namespace: kri.Namespace, Name: kri.Name}); ok && h.Catalog.KRI(o) == want {
		return o, true
	}
	for o := range snapshot.Of(t.Name, kri.Mesh) {
		if h.Catalog.KRI(o) == want {
			return o, true
		}
	}
	return nil, false
}

func (h *documentHandlers) put(w http.ResponseWriter, r *http.Request) error {
	ref, err := h.RefAt(r)
	if err != nil {
		return err
	}
	return h.Writes.write(w, r, ref)
}

func (h *documentHandlers) putMesh(w http.ResponseWriter, r *http.Request) error {
	return h.Writes.write(w, r, api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")})
}

func (h *documentHandlers) delete(w http.ResponseWriter, r *http.Request) error {
	ref, err := h.RefAt(r)
	if err != nil {
		return err
	}
	return h.Writes.remove(w, r, ref, func(now *api.Snapshot) (admission.Asked, error) { return admission.Removal(now, ref) })
}

// deleteMesh deletes a mesh with its documents, but not under the feet of sidecars.
func (h *documentHandlers) deleteMesh(w http.ResponseWriter, r *http.Request) error {
	mesh := api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")}
	for o := range h.SnapshotOf(r.Context(), api.KindDataplane).Of(api.KindDataplane, mesh.Name) {
		return httpapi.Conflict(admission.HasDataplanes(o))
	}
	return h.Writes.remove(w, r, mesh, func(now *api.Snapshot) (admission.Asked, error) { return admission.Removal(now, mesh) })
}
