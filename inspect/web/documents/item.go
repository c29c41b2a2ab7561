package documents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/resolve"
)

// written is an object as its writer gave it, without what readers are told
// beside it: an administrator who stores it again changes nothing. Others do
// not learn its secrets.
func (h *Handlers) written(r *http.Request, o *api.Object) ([]byte, error) {
	if !rights.CallerOf(r.Context()).Administers() {
		o = o.Redacted()
	}
	c := *o
	c.Created, c.Modified = time.Time{}, time.Time{}
	return decode.PrintJSON(h.Catalog, &c)
}

// shown is an object with everything that readers see beside what was written:
// labels, and the state and the status of a service.
func (h *Handlers) shown(ctx context.Context, o *api.Object) (*api.Object, error) {
	out := h.Catalog.Shown(o.Redacted())
	switch o.Kind {
	case api.KindMeshTrust:
		if of := snapshot.MadeOf(h.Documents.Snapshot(), o); of != nil {
			c := *out
			kri := h.Catalog.KRI(of)
			c.Status = &api.TrustStatus{Origin: &api.TrustOrigin{KRI: &kri}}
			return &c, nil
		}
		return out, nil
	case api.KindMeshService, api.KindMeshExternalService, api.KindMeshMultiZoneService:
	default:
		return out, nil
	}
	model, err := h.Documents.Model(ctx)
	if err != nil {
		return nil, err
	}
	c := *out
	if spec, ok := o.Spec.(*api.MeshService); ok {
		computed := *spec
		computed.State = "Unavailable"
		if model.Available(o.Ref) {
			computed.State = "Available"
		}
		if q := model.Reader(nil); q.Identities(o.Mesh) {
			computed.Identities = identitiesOf(q, o.Ref, computed.Identities)
		}
		c.Spec = &computed
	}
	report, ok := model.Reader(nil).ServiceReport(o.Ref, h.isConnected)
	if !ok { // it was stored just now, or takes no part
		return &c, nil
	}
	callers := model.Callers(o.Mesh)
	for i := range report.HostnameGenerators {
		for j := range report.HostnameGenerators[i].Conditions {
			condition := &report.HostnameGenerators[i].Conditions[j]
			condition.LastTransitionTime = o.Modified.UTC().Format(time.RFC3339)
			if condition.Status == "True" && h.Resolving != nil && callers > 0 { // only sidecars answer for such a name
				condition.Message = fmt.Sprintf("%d of %d dataplanes resolve it", h.Resolving(o.Mesh), callers)
			}
		}
	}
	c.Status = report
	return &c, nil
}

// isConnected reports whether the sidecar of a dataplane is.
func (h *Handlers) isConnected(ref api.Ref) bool {
	c, ok := h.Sidecars.Sidecar(ref)
	return ok && c.Connected
}

// item is an object as the API shows it, with conditions in its status. Its name
// tells it from others of its kind and mesh, as in Kuma (spec/kuma.md 1.1).
func (h *Handlers) item(ctx context.Context, o *api.Object, conditions any) ([]byte, error) {
	o, err := h.shown(ctx, o)
	if err != nil {
		return nil, err
	}
	named := *o
	if t, _ := h.Catalog.Type(o.Kind); !t.Secret && !t.Cluster {
		named.Name = o.FullName()
	}
	text, err := decode.PrintJSON(h.Catalog, &named)
	if err != nil || conditions == nil {
		return text, err
	}
	return withConditions(text, conditions)
}

// withConditions adds conditions to the status of a printed object.
func withConditions(text []byte, conditions any) ([]byte, error) {
	list, err := json.Marshal(conditions)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	status := map[string]json.RawMessage{}
	if had, ok := fields["status"]; ok {
		if err := json.Unmarshal(had, &status); err != nil {
			return nil, err
		}
		text = bytes.TrimSuffix(text, slices.Concat([]byte(`,"status":`), had, []byte("}")))
		text = append(slices.Clip(text), '}')
	}
	status["conditions"] = list
	whole, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return slices.Concat(text[:len(text)-1], []byte(`,"status":`), whole, []byte("}")), nil
}

// identitiesOf are the identities of a MeshService as readers see them: those of its dataplanes, and
// what its document says of SPIFFE IDs where it has none (spec/identity.md 3.1). Tags stay as written.
func identitiesOf(q *resolve.Reader, ref api.Ref, written []api.ServiceIdentity) []api.ServiceIdentity {
	names, ok := q.IdentitiesOf(ref)
	if !ok {
		return written
	}
	out := slices.DeleteFunc(slices.Clone(written), func(i api.ServiceIdentity) bool { return i.Type == "SpiffeID" })
	for _, n := range names {
		out = append(out, api.ServiceIdentity{Type: "SpiffeID", Value: n})
	}
	return out
}

// conditionsOf are the conditions of a policy, route, document about identities or place for telemetry; nil for other kinds,
// unless their text is refused.
func (h *Handlers) conditionsOf(ctx context.Context, o *api.Object) (any, error) {
	if t, _ := h.Catalog.Type(o.Kind); !t.Policy && !t.Route && !conditions.HasConditions(o) {
		if c, ok := conditions.RefusedOf(o.Ref, true, h.Problems()); ok {
			return []conditions.Condition{c}, nil
		}
		return nil, nil
	}
	status, err := h.statusOf(ctx, o)
	return status.Conditions, err
}

// statusOf is how a route or policy fares.
func (h *Handlers) statusOf(ctx context.Context, o *api.Object) (conditions.Status, error) {
	m, err := h.Reader(ctx)
	if err != nil {
		return conditions.Status{}, err
	}
	status, err := conditions.StatusOf(m, o.Ref, h.Sidecars.Sidecar, h.Problems()...)
	if errors.Is(err, inspect.ErrNotFound) {
		err = httpapi.NotFound() // deleted a moment ago
	}
	return status, err
}
