package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
)

func (s *server) dataplaneRoutes() []endpoint {
	const dp = "/meshes/{mesh}/dataplanes/{name}"
	return []endpoint{
		{"GET " + dp + "/_explain", s.explain, "Everything that applies to a dataplane, and why"},
		{"POST " + dp + "/_simulate", s.simulate, "What would happen to a request"},
	}
}

func (s *server) questionRoutes() []endpoint {
	return nil
}

// asked is the dataplane that the path names, in the model that holds.
func (s *server) asked(r *http.Request) (*resolve.Model, api.Ref, error) {
	ref := api.Ref{Kind: api.KindDataplane, Mesh: r.PathValue("mesh"), Namespace: r.URL.Query().Get("namespace"), Name: r.PathValue("name")}
	m, err := s.Documents.Model(r.Context())
	return m, ref, err
}

// unknown makes what package inspect does not find a 404 in its words.
func unknown(err error) error {
	if errors.Is(err, inspect.ErrNotFound) {
		return problem{Status: http.StatusNotFound, Title: "Could not retrieve a resource", Detail: err.Error()}
	}
	return err
}

func (s *server) explain(w http.ResponseWriter, r *http.Request) error {
	m, ref, err := s.asked(r)
	if err != nil {
		return err
	}
	e, err := inspect.Explain(m, ref, r.URL.Query().Get("to"))
	if err != nil {
		return unknown(err)
	}
	for _, c := range s.Sidecars.Sidecars() {
		if c.Dataplane == ref {
			e.Acked = c.Acked
		}
	}
	answer(w, http.StatusOK, e)
	return nil
}

func (s *server) simulate(w http.ResponseWriter, r *http.Request) error {
	m, ref, err := s.asked(r)
	if err != nil {
		return err
	}
	var q sim.Request
	if err := read(w, r, &q); err != nil {
		return err
	}
	resolved, ok := m.Dataplane(ref)
	if !ok {
		return missing()
	}
	verdict, err := sim.Run(resolved, q)
	if err != nil {
		return badField("url", err.Error())
	}
	answer(w, http.StatusOK, verdict)
	return nil
}

// conditionsOf are the conditions of a policy or route; nil for other kinds.
func (s *server) conditionsOf(ctx context.Context, o *api.Object) (any, error) {
	return nil, nil
}
