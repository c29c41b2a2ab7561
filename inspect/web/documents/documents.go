// Package documents shows documents, one by one and in lists, in the envelopes of Kuma and of Kubernetes.
package documents

import (
	"context"
	"net/http"
	"reflect"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect/web/changes"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/sidecars"
)

// Handlers show documents, and have them written.
type Handlers struct {
	*objects.Finder
	Writes   *changes.DocumentWriter
	Sidecars sidecars.Sidecars
	// Problems are documents that are not served as they were written.
	Problems func() []*api.Violation
	// Resolving is beside how many dataplanes of a mesh its names resolve; nil where nobody knows.
	Resolving func(mesh string) int
}

func (h *Handlers) get(w http.ResponseWriter, r *http.Request) error {
	ref, err := h.RefAt(r)
	if err != nil {
		return err
	}
	return h.show(w, r, ref)
}

func (h *Handlers) getMesh(w http.ResponseWriter, r *http.Request) error {
	return h.show(w, r, api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")})
}

// show answers with one object and its conditions.
func (h *Handlers) show(w http.ResponseWriter, r *http.Request, ref api.Ref) error {
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

func (h *Handlers) byKRI(w http.ResponseWriter, r *http.Request) error {
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
func (h *Handlers) find(ctx context.Context, kri api.KRI) (*api.Object, bool) {
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

func (h *Handlers) put(w http.ResponseWriter, r *http.Request) error {
	ref, err := h.RefAt(r)
	if err != nil {
		return err
	}
	return h.Writes.Put(w, r, ref)
}

func (h *Handlers) putMesh(w http.ResponseWriter, r *http.Request) error {
	return h.Writes.Put(w, r, api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")})
}

func (h *Handlers) delete(w http.ResponseWriter, r *http.Request) error {
	ref, err := h.RefAt(r)
	if err != nil {
		return err
	}
	return h.Writes.Remove(w, r, ref, func(now *snapshot.Snapshot) (admission.WriteRequest, error) { return admission.Removal(now, ref) })
}

// deleteMesh deletes a mesh with its documents, but not under the feet of sidecars.
func (h *Handlers) deleteMesh(w http.ResponseWriter, r *http.Request) error {
	mesh := api.Ref{Kind: api.KindMesh, Name: r.PathValue("mesh")}
	for o := range h.SnapshotOf(r.Context(), api.KindDataplane).Of(api.KindDataplane, mesh.Name) {
		return httpapi.Conflict(admission.HasDataplanes(o))
	}
	return h.Writes.Remove(w, r, mesh, func(now *snapshot.Snapshot) (admission.WriteRequest, error) { return admission.Removal(now, mesh) })
}

var inFormat = endpoint.Parameter{Name: "format", About: "universal: as readers see it; kubernetes: in the envelope of Kubernetes; written: as its writer gave it", Schema: endpoint.OneOf("universal", "kubernetes", "k8s", "written")}

var itemFormat = endpoint.Parameter{Name: "format", About: "written: as the writer of each gave it", Schema: endpoint.OneOf("universal", "written")}

// shows is the form of a GET of one document.
func shows(more ...endpoint.Parameter) endpoint.Form {
	return endpoint.Says[endpoint.Document](append([]endpoint.Parameter{inFormat}, more...)...).OrSays(endpoint.OfJSON, reflect.TypeFor[endpoint.KubernetesDocument]())
}

// listsDocuments is the form of a list of documents.
func listsDocuments(more ...endpoint.Parameter) endpoint.Form {
	return endpoint.Lists[endpoint.Document](append([]endpoint.Parameter{endpoint.ByLabels, itemFormat}, more...)...)
}

// Endpoints are the paths of documents.
func (h *Handlers) Endpoints() []endpoint.Operation {
	return slices.Concat(h.unsupportedEndpoints(), h.kubernetesEndpoints(), []endpoint.Operation{
		endpoint.New("GET /_kri/{kri}", h.byKRI, "One document by its KRI", shows()),
		endpoint.New("GET /meshes", h.listOf("Mesh"), "All meshes", listsDocuments()),
		endpoint.New("GET /meshes/{mesh}", h.getMesh, "One mesh", shows()),
		endpoint.New("PUT /meshes/{mesh}", h.putMesh, "Create or replace a mesh", changes.PutForm()),
		endpoint.New("DELETE /meshes/{mesh}", h.deleteMesh, "Delete a mesh and what is in it", changes.DeleteForm()),
		endpoint.New("GET /meshes/{mesh}/{plural}", h.list, "All documents of one type in a mesh", listsDocuments(endpoint.ByTags, endpoint.ByGateway)),
		endpoint.New("GET /meshes/{mesh}/{plural}/{name}", h.get, "One document", shows(endpoint.InNamespace)),
		endpoint.New("PUT /meshes/{mesh}/{plural}/{name}", h.put, "Create or replace a document", changes.PutForm()),
		endpoint.New("DELETE /meshes/{mesh}/{plural}/{name}", h.delete, "Delete a document", changes.DeleteForm()),
		endpoint.New("GET /{plural}", h.list, "All documents of one type", listsDocuments(endpoint.ByTags, endpoint.ByGateway)),
		endpoint.New("GET /{plural}/{name}", h.get, "One document of a global type", shows(endpoint.InNamespace)),
		endpoint.New("PUT /{plural}/{name}", h.put, "Create or replace a document of a global type", changes.PutForm()),
		endpoint.New("DELETE /{plural}/{name}", h.delete, "Delete a document of a global type", changes.DeleteForm()),
	})
}
