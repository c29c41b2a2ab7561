package web

import (
	"context"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// source finds the objects, and the model, that requests are about.
type source struct {
	Catalog   *api.Catalog
	Documents readDocuments
	// Asked is told of each reader of a model that a request makes, which counts what the answer
	// costs; nil tells nobody.
	Asked func(*resolve.Reader)
	// Listed is told how many documents a list looked at; nil tells nobody.
	Listed func(int)
	// NotFound is the answer to a request whose path leads nowhere.
	NotFound func(*http.Request) error
}

// readDocuments is the store as it is read.
type readDocuments interface {
	Snapshot() *api.Snapshot
	// Model is what holds; it covers everything that was acknowledged before the call.
	Model(context.Context) (*resolve.Model, error)
}

// there is what there is of a kind: Dataplanes with those of pods, which follow from what
// is written, and of all else what is written.
func (s *source) there(ctx context.Context, kind string) *api.Snapshot {
	if kind == api.KindDataplane {
		if m, err := s.Documents.Model(ctx); err == nil {
			return m.Snapshot()
		}
	}
	return s.Documents.Snapshot()
}

// typeAt is the type that the path names, which must fit its place: in a mesh
// or outside.
func (s *source) typeAt(r *http.Request) (api.Type, error) {
	t, ok := s.Catalog.ByPlural(r.PathValue("plural"))
	if !ok || t.Global != (r.PathValue("mesh") == "") {
		return t, s.withoutType(r)
	}
	return t, nil
}

// refAt is the object that the path names.
func (s *source) refAt(r *http.Request) (api.Ref, error) {
	t, err := s.typeAt(r)
	return s.refOf(r, t.Name), err
}

// refOf is the object of that kind that the path names. An object with a
// namespace answers to ?namespace= and to <name>.<namespace>, its name in Kuma.
func (s *source) refOf(r *http.Request, kind string) api.Ref {
	ref := api.Ref{Kind: kind, Mesh: r.PathValue("mesh"), Namespace: r.URL.Query().Get("namespace"), Name: r.PathValue("name")}
	return ref.Resolve(s.there(r.Context(), kind).Has)
}
