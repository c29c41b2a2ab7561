package documents

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/inspect/web/changes"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// kubernetesEndpoints are documents under the paths that they have in Kubernetes.
func (h *Handlers) kubernetesEndpoints() []endpoint.Operation {
	const one, unscoped = "/k8s/{group}/{version}/namespaces/{namespace}/{plural}/{name}", "/k8s/{group}/{version}/{plural}/{name}"
	return []endpoint.Operation{
		endpoint.New("GET "+one, h.getKubernetes, "One document in the envelope of Kubernetes, with its status in the form of its language", endpoint.Says[endpoint.KubernetesDocument](endpoint.InMesh)),
		endpoint.New("PUT "+one, h.putKubernetes, "Create or replace a document", changes.PutForm()),
		endpoint.New("DELETE "+one, h.deleteKubernetes, "Delete a document", changes.DeleteForm()),
		endpoint.New("GET "+unscoped, h.getKubernetes, "One document of a type without namespaces, in the envelope of Kubernetes", endpoint.Says[endpoint.KubernetesDocument](endpoint.InMesh)),
		endpoint.New("PUT "+unscoped, h.putKubernetes, "Create or replace a document of a type without namespaces", changes.PutForm()),
		endpoint.New("DELETE "+unscoped, h.deleteKubernetes, "Delete a document of a type without namespaces", changes.DeleteForm()),
	}
}

func (h *Handlers) getKubernetes(w http.ResponseWriter, r *http.Request) error {
	ref, err := h.KubernetesRef(r)
	if err != nil {
		return err
	}
	o, ok := h.Documents.Snapshot().Get(ref)
	if !ok {
		return httpapi.NotFound()
	}
	status, err := h.ownStatus(r, o)
	if err != nil {
		return err
	}
	shown, err := h.shown(r.Context(), o)
	if err != nil {
		return err
	}
	text, err := decode.PrintKubernetes(h.Catalog, shown)
	if err != nil {
		return err
	}
	if status != nil {
		list, err := json.Marshal(status)
		if err != nil {
			return err
		}
		text = slices.Concat(text[:len(text)-1], []byte(`,"status":`), list, []byte("}"))
	}
	w.Header().Set("ETag", httpapi.ETag(o))
	httpapi.Write(w, http.StatusOK, "application/json", text)
	return nil
}

// ownStatus is how an object fares, in the form that its language has for it; nil for
// objects that have no status. Policies and routes always have one.
func (h *Handlers) ownStatus(r *http.Request, o *api.Object) (any, error) {
	t, _ := h.Catalog.Type(o.Kind)
	if !t.Policy && !t.Route && !t.Reported {
		return nil, nil
	}
	status, err := h.statusOf(r.Context(), o)
	if err != nil || status.Own != nil || t.Reported {
		return status.Own, err
	}
	return map[string]any{"conditions": status.Conditions}, nil
}

func (h *Handlers) putKubernetes(w http.ResponseWriter, r *http.Request) error {
	ref, err := h.KubernetesRef(r)
	if err != nil {
		return err
	}
	return h.Writes.Put(w, r, ref)
}

func (h *Handlers) deleteKubernetes(w http.ResponseWriter, r *http.Request) error {
	ref, err := h.KubernetesRef(r)
	if err != nil {
		return err
	}
	return h.Writes.Remove(w, r, ref, func(now *snapshot.Snapshot) (admission.WriteRequest, error) { return admission.Removal(now, ref) })
}
