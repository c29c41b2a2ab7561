package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// handler answers a request with a value for JSON, or a raw body, or an error.
type handler func(http.ResponseWriter, *http.Request) error

// endpoint is one path of the API and what GET /_openapi.json says of it.
type endpoint struct {
	pattern string // of http.ServeMux, method first
	handle  handler
	about   string
	form    form
}

// newEndpoint is an endpoint at a pattern of http.ServeMux, method first.
func newEndpoint(pattern string, handle handler, about string, f form) endpoint {
	return endpoint{pattern, handle, about, f}
}

// serve makes a handler an http.Handler: its error becomes the answer.
func (s *server) serve(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			p := httpapi.ProblemOf(err)
			if p.Status == http.StatusInternalServerError {
				s.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "error", err)
			}
			httpapi.Fail(w, p)
		}
	})
}

// flag reads a parameter that is true or false, false where it is not given.
func flag(q url.Values, name string) (bool, error) {
	if !q.Has(name) {
		return false, nil
	}
	v, err := strconv.ParseBool(q.Get(name))
	if err != nil {
		return false, httpapi.BadField(name, strconv.Quote(q.Get(name))+" is neither true nor false; write one of them")
	}
	return v, nil
}

func (s *server) serviceRoutes() []endpoint {
	return []endpoint{
		newEndpoint("GET /{$}", s.index, "Who answers", says[answering]()),
		newEndpoint("GET /healthz", s.healthz, "Whether the process lives", saysText()),
		newEndpoint("GET /readyz", s.readyz, "Whether documents are read, resolved and served; degraded and why, while the store takes no writes", saysText(readyFor)),
		newEndpoint("GET /metrics", s.metrics, "Metrics in the text format of Prometheus", saysText()),
		newEndpoint("GET /config", s.config, "The configuration, without secrets: for administrators", says[anything]()),
		newEndpoint("GET /who-am-i", s.whoAmI, "Who the request comes from", says[user]()),
		newEndpoint("GET /_openapi.json", s.openAPI, "This description", says[anything]()),
	}
}

func (h *documentHandlers) documentRoutes() []endpoint {
	return []endpoint{
		newEndpoint("GET /_kri/{kri}", h.byKRI, "One document by its KRI", shows()),
		newEndpoint("GET /meshes", h.listOf("Mesh"), "All meshes", listsDocuments()),
		newEndpoint("GET /meshes/{mesh}", h.getMesh, "One mesh", shows()),
		newEndpoint("PUT /meshes/{mesh}", h.putMesh, "Create or replace a mesh", writes()),
		newEndpoint("DELETE /meshes/{mesh}", h.deleteMesh, "Delete a mesh and what is in it", removes()),
		newEndpoint("GET /meshes/{mesh}/{plural}", h.list, "All documents of one type in a mesh", listsDocuments(byTags, byGateway)),
		newEndpoint("GET /meshes/{mesh}/{plural}/{name}", h.get, "One document", shows(inNamespace)),
		newEndpoint("PUT /meshes/{mesh}/{plural}/{name}", h.put, "Create or replace a document", writes()),
		newEndpoint("DELETE /meshes/{mesh}/{plural}/{name}", h.delete, "Delete a document", removes()),
		newEndpoint("GET /{plural}", h.list, "All documents of one type", listsDocuments(byTags, byGateway)),
		newEndpoint("GET /{plural}/{name}", h.get, "One document of a global type", shows(inNamespace)),
		newEndpoint("PUT /{plural}/{name}", h.put, "Create or replace a document of a global type", writes()),
		newEndpoint("DELETE /{plural}/{name}", h.delete, "Delete a document of a global type", removes()),
	}
}

// notFound answers a request that no path is for: 405 where the path is there
// for other methods.
func (s *server) notFound(r *http.Request) error {
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete} {
		if s.has(method, r) {
			allow = append(allow, method)
		}
	}
	if len(allow) == 0 {
		return httpapi.NotFound()
	}
	list := strings.Join(allow, ", ")
	return httpapi.Problem{Status: http.StatusMethodNotAllowed, Title: "Method not allowed", Detail: r.Method + " is not possible here; use " + list, Allow: list}
}

// has reports whether there is something at the path for a method.
func (s *server) has(method string, r *http.Request) bool {
	other := r.Clone(r.Context())
	other.Method = method
	_, pattern := s.mux.Handler(other)
	_, path, ok := strings.Cut(pattern, " ")
	if !ok {
		return false // of / alone, which is notFound itself
	}
	at := slices.Index(strings.Split(path, "/"), "{plural}")
	if at < 0 {
		return true
	}
	t, known := s.Catalog.ByPlural(strings.Split(r.URL.Path, "/")[at])
	return known && (strings.HasPrefix(path, "/k8s/") || t.Global != strings.Contains(path, "{mesh}") || path == "/{plural}")
}
