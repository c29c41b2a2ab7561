package webhook

import (
	"cmp"
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// route is document for routes that other programs read too: what is only for them is
// theirs to check.
func (s *server) route(ctx context.Context, q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if m := s.Cluster.Model(); m == nil || foreign(m, q) || s.ofOtherClass(m, q) {
		return allowed(nil)
	}
	return s.document(ctx, q)
}

// ofOtherClass reports whether the route is of an ingress class that is not served: whatever is
// served is checked.
func (s *server) ofOtherClass(m *resolve.Model, q *admissionv1.AdmissionRequest) bool {
	o, _ := s.read(q.Object.Raw)
	return o != nil && !m.Serves(o)
}

// parents are what a route says of who serves it.
type parents struct {
	Spec struct {
		ParentRefs []struct {
			Kind      string `json:"kind"`
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"parentRefs"`
	} `json:"spec"`
}

// foreign reports whether the route names who serves it, and that is never weft: neither a
// Service nor a Gateway of a class of weft's.
func foreign(m *resolve.Model, q *admissionv1.AdmissionRequest) bool {
	var p parents
	if json.Unmarshal(q.Object.Raw, &p) != nil {
		return false
	}
	for _, r := range p.Spec.ParentRefs {
		kind := cmp.Or(r.Kind, "Gateway")
		if kind == api.KindService {
			return false
		}
		at := api.Ref{Kind: kind, Mesh: api.DefaultMesh, Namespace: cmp.Or(r.Namespace, q.Namespace), Name: r.Name}
		if o, ok := m.Route(at); ok && o.Edges != (api.Edges{}) {
			return false
		}
	}
	return len(p.Spec.ParentRefs) > 0
}
