// Package services writes a MeshService for each Service of the mesh, and for each pod of a
// headless one, since users list and target them (spec/kubernetes.md 3.2, 3.6).
//
// It promises what control/owned does, with an event at a Service whose MeshService somebody
// else has written. What follows from a Service follows from the Service itself, in memory,
// with or without the object: nothing here is needed for traffic.
package services

import (
	"context"
	"log/slog"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/owned"
	"github.com/weftmesh/weft/control/status"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/store/kube/writing"
)

// Config says what is written where.
type Config struct {
	Store   *kube.Store
	Catalog *api.Catalog
	Writer  *writing.Writer
	// Model is what holds; nil while nothing was resolved.
	Model func() *resolve.Model
	// Status is that of a Service, or of the MeshService of a pod; nil while it is not resolved.
	Status func(api.Ref) *api.ServiceReport
	Log    *slog.Logger
}

// New keeps the MeshServices of a cluster.
func New(c Config) *owned.Keeper {
	return owned.New(owned.Config{Kind: api.KindMeshService, Store: c.Store, Writer: c.Writer, Maker: maker{c}, Log: c.Log, Report: c.report, Taken: owned.Event{
		Reason: "MeshServiceExists",
		Note:   "a MeshService of this name was there before, and stands for the Service; delete it, or give it another name, and weft writes one that follows the Service",
	}})
}

// maker makes MeshServices.
type maker struct{ Config }

// Touches implements [owned.Maker].
func (maker) Touches(ref api.Ref) (one, all bool) {
	return ref.Kind == api.KindService || ref.Kind == api.KindMeshService, ref.Kind == api.KindNamespace || ref.Kind == api.KindMesh
}

// See implements [owned.Maker].
func (m maker) See() owned.View {
	s := &seen{catalog: m.Catalog, now: m.Store.Snapshot()}
	if model := m.Model(); model != nil {
		s.resolved = model.Snapshot()
	}
	return s
}

// report is what writes the status of an object, if it differs.
func (c Config) report(m owned.Made, o *owned.Object) func(context.Context) error {
	r := c.Status(resolved(o))
	if r == nil {
		return nil
	}
	want, err := status.Values(r)
	if err != nil {
		return func(context.Context) error { return err }
	}
	want["observedGeneration"] = float64(m.Report.Generation)
	status.Stamp(want, status.Object(m.Report.Status), m.Report.Generation, time.Now())
	if status.Says(m.Report.Status, want) {
		return nil
	}
	return func(ctx context.Context) error { return c.Writer.Status(ctx, m.Ref, m.Report.Version, want) }
}

// resolved is what the model knows the object by.
func resolved(o *owned.Object) api.Ref {
	if o.Owner.Kind == api.KindPod {
		return o.Ref
	}
	return api.Ref{Kind: api.KindService, Mesh: o.Mesh, Namespace: o.Namespace, Name: o.Name}
}
