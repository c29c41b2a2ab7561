package status

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/resolve"
)

// finding is how an object fares, as its kind has it in a cluster.
type finding struct {
	ref     api.Ref
	want    map[string]any // nil where weft says nothing of it
	pending bool           // Envoys have not answered yet
	invalid bool           // the text is refused, whatever is in force
}

// one is how one object fares.
func (r *Reporter) one(q *resolve.Reader, ref api.Ref, problems func() []*api.Violation) (finding, error) {
	t, _ := r.Catalog.Type(ref.Kind)
	switch {
	case t.NewStatus != nil:
		return r.service(q, ref)
	case ref.Kind == api.KindHostnameGenerator:
		return generator(q, ref, problems())
	case ref.Kind == api.KindMesh:
		return mesh(q, ref, inspect.SyncOf(q, ref.Name, r.Plane.Sidecars()), problems())
	}
	s, err := conditions.StatusOf(q, ref, r.Plane.Sidecar, problems()...)
	if err != nil {
		return finding{}, err
	}
	return r.found(q, &s, t)
}

// ofMesh is how all objects of a mesh fare.
func (r *Reporter) ofMesh(q *resolve.Reader, name string, sidecars []inspect.Sidecar, problems []*api.Violation) []finding {
	var out []finding
	add := func(ref api.Ref, f finding, err error) {
		if err != nil {
			r.Log.Error("a status cannot be written", "object", ref.String(), "error", err)
			return
		}
		out = append(out, f)
	}
	overview := conditions.OverviewOf(q, name, sidecars, problems...)
	objects := overview.Objects
	at := api.Ref{Kind: api.KindMesh, Name: name}
	f, err := mesh(q, at, overview.Sidecars, problems)
	add(at, f, err)
	for i := range objects {
		if objects[i].Ref.Mesh == "" {
			continue // it is everybody's
		}
		t, _ := r.Catalog.Type(objects[i].Ref.Kind)
		f, err := r.found(q, &objects[i], t)
		add(objects[i].Ref, f, err)
	}
	for _, t := range r.Catalog.Types() {
		if t.NewStatus == nil {
			continue
		}
		for o := range q.Snapshot().Of(t.Name, name) {
			if f, err := r.service(q, o.Ref); err == nil { // else it is not resolved yet
				out = append(out, f)
			}
		}
	}
	return out
}

// found is how a policy, a route or a document about identities fares.
func (r *Reporter) found(q *resolve.Reader, s *conditions.Status, t api.Type) (finding, error) {
	o, ok := q.Snapshot().Get(s.Ref)
	if ok && !q.Serves(o) {
		return finding{ref: s.Ref}, nil // another controller's, and so is its status
	}
	want, err := body(s, t)
	if ok && err == nil {
		if of := snapshot.MadeOf(q.Snapshot(), o); of != nil {
			want["origin"] = map[string]any{"kri": r.Catalog.KRI(of)}
		}
	}
	is := func(condition, reason string) bool {
		return slices.ContainsFunc(s.Conditions, func(c conditions.Condition) bool { return c.Type == condition && c.Reason == reason })
	}
	return finding{ref: s.Ref, want: want, pending: is("Programmed", "Pending"), invalid: is("Accepted", "Invalid")}, err
}

// service is how a service fares: its addresses, names and dataplanes.
func (r *Reporter) service(q *resolve.Reader, ref api.Ref) (finding, error) {
	report, ok := q.ServiceReport(ref, func(dp api.Ref) bool {
		s, ok := r.Plane.Sidecar(dp)
		return ok && s.Connected
	})
	if !ok {
		return finding{}, inspect.NotFound(ref.Kind, ref.Name, nil)
	}
	TellResolving(report, r.Plane.Resolving(ref.Mesh), q.Callers(ref.Mesh))
	return values(ref, report)
}
