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

// routes are all paths. Where two patterns fit, the more specific one answers.
func (s *server) routes() []endpoint {
	var all []endpoint
	for _, group := range [][]endpoint{s.serviceRoutes(), s.insightRoutes(), s.documentRoutes(), s.historyRoutes(), s.absentRoutes(), s.kubernetesRoutes(), s.dataplaneRoutes(), s.viewRoutes(), s.questionRoutes(), s.authorityRoutes(), s.envoyRoutes()} {
		all = append(all, group...)
	}
	return all
}

func (s *server) serviceRoutes() []endpoint {
	return []endpoint{
		{"GET /{$}", s.index, "Who answers", says[answering]()},
		{"GET /healthz", s.healthz, "Whether the process lives", saysText()},
		{"GET /readyz", s.readyz, "Whether documents are read, resolved and served; degraded and why, while the store takes no writes", saysText(readyFor)},
		{"GET /metrics", s.metrics, "Metrics in the text format of Prometheus", saysText()},
		{"GET /config", s.config, "The configuration, without secrets: for administrators", says[anything]()},
		{"GET /who-am-i", s.whoAmI, "Who the request comes from", says[user]()},
		{"GET /_resources", s.resources, "All types of documents", says[resourceTypes]()},
		{"GET /policies", s.policyTypes, "All types of policies, in the older form", says[policyTypes]()},
		{"GET /_openapi.json", s.openAPI, "This description", says[anything]()},
		{"GET /_schemas/{kind}", s.schema, "The JSON schema of one kind of document: its name and .json", says[anything]()},
		{"POST /tokens/dataplane", s.dataplaneToken, "Issue a token for one dataplane", reads[dataplaneTokenRequest](saysText())},
		{"POST /tokens/user", s.userToken, "Issue a token for a user", reads[userTokenRequest](saysText())},
		{"POST /tokens/revoke", s.revokeTokens, "Make tokens void before their time, by their ids (jti)", reads[tokenIDs](says[revoked]())},
		{"GET /tokens/revoked", s.revokedTokens, "The ids of all revoked tokens", says[tokenIDs]()},
		{"POST /tokens/zone", s.zoneToken, "Refused: there are no zones", form{}},
		{"GET /_events", s.events, "What happens, as server-sent events; the header Last-Event-ID goes on where a stream broke off", saysEvents()},
	}
}

func (s *server) documentRoutes() []endpoint {
	return []endpoint{
		{"POST /_apply", s.apply, "Write many documents, all or none: a stream, an array, or a form with a field for each file", applies()},
		{"GET /_kri/{kri}", s.byKRI, "One document by its KRI", shows()},
		{"GET /meshes", s.listOf("Mesh"), "All meshes", listsDocuments()},
		{"GET /meshes/{mesh}", s.getMesh, "One mesh", shows()},
		{"PUT /meshes/{mesh}", s.putMesh, "Create or replace a mesh", writes()},
		{"DELETE /meshes/{mesh}", s.deleteMesh, "Delete a mesh and what is in it", removes()},
		{"GET /meshes/{mesh}/{plural}", s.list, "All documents of one type in a mesh", listsDocuments(byTags, byGateway)},
		{"GET /meshes/{mesh}/{plural}/{name}", s.get, "One document", shows(inNamespace)},
		{"PUT /meshes/{mesh}/{plural}/{name}", s.put, "Create or replace a document", writes()},
		{"DELETE /meshes/{mesh}/{plural}/{name}", s.delete, "Delete a document", removes()},
		{"GET /{plural}", s.list, "All documents of one type", listsDocuments(byTags, byGateway)},
		{"GET /{plural}/{name}", s.get, "One document of a global type", shows(inNamespace)},
		{"PUT /{plural}/{name}", s.put, "Create or replace a document of a global type", writes()},
		{"DELETE /{plural}/{name}", s.delete, "Delete a document of a global type", removes()},
	}
}

// notFound answers a request that no path is for: 405 where the path is there
// for other methods.
func (s *server) notFound(_ http.ResponseWriter, r *http.Request) error {
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
