package web

import (
	"net/http"
)

// handler answers a request with a value for JSON, or a raw body, or an error.
type handler func(http.ResponseWriter, *http.Request) error

// endpoint is one path of the API and what GET /_openapi.json says of it.
type endpoint struct {
	pattern string // of http.ServeMux, method first
	handle  handler
	about   string
}

// serve makes a handler an http.Handler: its error becomes the answer.
func (s *server) serve(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			p := problemOf(err)
			if p.Status == http.StatusInternalServerError {
				s.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
			}
			fail(w, p)
		}
	})
}

// routes are all paths. Where two patterns fit, the more specific one answers.
func (s *server) routes() []endpoint {
	var all []endpoint
	for _, group := range [][]endpoint{s.serviceRoutes(), s.documentRoutes(), s.dataplaneRoutes(), s.viewRoutes(), s.questionRoutes()} {
		all = append(all, group...)
	}
	return all
}

func (s *server) serviceRoutes() []endpoint {
	return []endpoint{
		{"GET /{$}", s.index, "Who answers"},
		{"GET /healthz", s.healthz, "Whether the process lives"},
		{"GET /readyz", s.readyz, "Whether documents are read, resolved and served"},
		{"GET /config", s.config, "The configuration, without secrets"},
		{"GET /who-am-i", s.whoAmI, "Who the request comes from"},
		{"GET /_resources", s.resources, "All types of documents"},
		{"GET /policies", s.policyTypes, "All types of policies, in the older form"},
		{"GET /global-insight", s.globalInsight, "Counts of everything"},
		{"GET /_openapi.json", s.openAPI, "This description"},
		{"GET /_schemas/{kind}", s.schema, "The JSON schema of one kind of document"},
		{"POST /tokens/dataplane", s.dataplaneToken, "Issue a token for one dataplane"},
		{"POST /tokens/user", s.userToken, "Issue a token for a user"},
		{"GET /_events", s.events, "What happens, as server-sent events"},
	}
}

func (s *server) documentRoutes() []endpoint {
	return []endpoint{
		{"POST /_apply", s.apply, "Write many documents, all or none"},
		{"GET /_kri/{kri}", s.byKRI, "One document by its KRI"},
		{"GET /meshes", s.listOf("Mesh"), "All meshes"},
		{"GET /meshes/{mesh}", s.getMesh, "One mesh"},
		{"PUT /meshes/{mesh}", s.putMesh, "Create or replace a mesh"},
		{"DELETE /meshes/{mesh}", s.deleteMesh, "Delete a mesh and what is in it"},
		{"GET /meshes/{mesh}/{plural}", s.list, "All documents of one type in a mesh"},
		{"GET /meshes/{mesh}/{plural}/{name}", s.get, "One document"},
		{"PUT /meshes/{mesh}/{plural}/{name}", s.put, "Create or replace a document"},
		{"DELETE /meshes/{mesh}/{plural}/{name}", s.delete, "Delete a document"},
		{"GET /{plural}", s.list, "All documents of one type"},
		{"GET /{plural}/{name}", s.get, "One document of a global type"},
		{"PUT /{plural}/{name}", s.put, "Create or replace a document of a global type"},
		{"DELETE /{plural}/{name}", s.delete, "Delete a document of a global type"},
	}
}

func (s *server) notFound(http.ResponseWriter, *http.Request) error { return missing() }
