// Package objects finds what requests are about: objects by their paths, the model that holds, and pages
// of lists.
package objects

import (
	"cmp"
	"context"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/resolve"
)

// KubernetesRef is the object that the path names. Without ?mesh= it is looked for in
// mesh default first, then in the others.
func (s *Finder) KubernetesRef(r *http.Request) (api.Ref, error) {
	t, ok := s.Catalog.ByPlural(r.PathValue("plural"))
	namespace := r.PathValue("namespace")
	if !ok || r.PathValue("group") != cmp.Or(t.Group, "kuma.io") || !t.Reads(t.In(r.PathValue("version"))) || t.Unscoped != (namespace == "") {
		return api.Ref{}, httpapi.NotFound()
	}
	ref := api.Ref{Kind: t.Name, Mesh: r.URL.Query().Get("mesh"), Namespace: namespace, Name: r.PathValue("name")}
	if t.Global || ref.Mesh != "" {
		return ref, nil
	}
	ref.Mesh = api.DefaultMesh
	snapshot := s.Documents.Snapshot()
	if snapshot.Has(ref) {
		return ref, nil
	}
	for mesh := range snapshot.OfKind(api.KindMesh) {
		other := ref
		if other.Mesh = mesh.Name; snapshot.Has(other) {
			return other, nil
		}
	}
	return ref, nil
}

// CheckMesh fails where a mesh is named that is not there.
func (s *Finder) CheckMesh(mesh string) error {
	if mesh == "" {
		return nil
	}
	if _, ok := s.Documents.Snapshot().Get(api.Ref{Kind: api.KindMesh, Name: mesh}); !ok {
		return httpapi.NotFound()
	}
	return nil
}

// ReaderAt is the object that the path names, and a reader of the model that holds.
func (s *Finder) ReaderAt(r *http.Request, kind string) (*resolve.Reader, api.Ref, error) {
	q, err := s.Reader(r.Context())
	return q, s.RefOf(r, kind), err
}

// Reader reads the model that holds for as long as the client waits.
func (s *Finder) Reader(ctx context.Context) (*resolve.Reader, error) {
	m, err := s.Documents.Model(ctx)
	if err != nil {
		return nil, err
	}
	return s.ReaderOf(m, func() bool { return ctx.Err() != nil }), nil
}

// ReaderOf reads a model until gone says that nobody waits; nil for somebody who
// always does.
func (s *Finder) ReaderOf(m *resolve.Model, gone func() bool) *resolve.Reader {
	q := m.Reader(gone)
	if s.OnReader != nil {
		s.OnReader(q)
	}
	return q
}

// Finder finds the objects, and the model, that requests are about.
type Finder struct {
	Catalog   *api.Catalog
	Documents Documents
	// OnReader is told of each reader of a model that a request makes, which counts what the answer
	// costs; nil tells nobody.
	OnReader func(*resolve.Reader)
	// Listed is told how many documents a list looked at; nil tells nobody.
	Listed func(int)
	// NotFound is the answer to a request whose path leads nowhere.
	NotFound func(*http.Request) error
}

// Documents is the store as it is read.
type Documents interface {
	Snapshot() *snapshot.Snapshot
	// Model is what holds; it covers everything that was acknowledged before the call.
	Model(context.Context) (*resolve.Model, error)
}

// SnapshotOf is what there is of a kind: Dataplanes with those of pods, which follow from what
// is written, and of all else what is written.
func (s *Finder) SnapshotOf(ctx context.Context, kind string) *snapshot.Snapshot {
	if kind == api.KindDataplane {
		if m, err := s.Documents.Model(ctx); err == nil {
			return m.Snapshot()
		}
	}
	return s.Documents.Snapshot()
}

// TypeAt is the type that the path names, which must fit its place: in a mesh
// or outside.
func (s *Finder) TypeAt(r *http.Request) (api.Type, error) {
	t, ok := s.Catalog.ByPlural(r.PathValue("plural"))
	if !ok || t.Global != (r.PathValue("mesh") == "") {
		return t, s.withoutType(r)
	}
	return t, nil
}

// RefAt is the object that the path names.
func (s *Finder) RefAt(r *http.Request) (api.Ref, error) {
	t, err := s.TypeAt(r)
	return s.RefOf(r, t.Name), err
}

// RefOf is the object of that kind that the path names. An object with a
// namespace answers to ?namespace= and to <name>.<namespace>, its name in Kuma.
func (s *Finder) RefOf(r *http.Request, kind string) api.Ref {
	ref := api.Ref{Kind: kind, Mesh: r.PathValue("mesh"), Namespace: r.URL.Query().Get("namespace"), Name: r.PathValue("name")}
	return ref.Resolve(s.SnapshotOf(r.Context(), kind).Has)
}
