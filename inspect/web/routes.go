package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
)

// serve makes a handler an http.Handler: its error becomes the answer.
func (s *server) serve(h endpoint.Handler) http.Handler {
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

func (s *server) serviceRoutes() []endpoint.Operation {
	return []endpoint.Operation{
		endpoint.New("GET /{$}", s.index, "Who answers", endpoint.Says[ServerInfo]()),
		endpoint.New("GET /healthz", s.healthz, "Whether the process lives", endpoint.SaysText()),
		endpoint.New("GET /readyz", s.readyz, "Whether documents are read, resolved and served; degraded and why, while the store takes no writes", endpoint.SaysText(readyFor)),
		endpoint.New("GET /metrics", s.metrics, "Metrics in the text format of Prometheus", endpoint.SaysText()),
		endpoint.New("GET /metrics/traffic", s.trafficMetrics, "What sidecars counted of requests, as series with the names of services, routes and rules, in the text format of Prometheus: for administrators, where it is served", endpoint.SaysText()),
		endpoint.New("GET /config", s.config, "The configuration, without secrets: for administrators", endpoint.Says[endpoint.Anything]()),
		endpoint.New("GET /who-am-i", s.whoAmI, "Who the request comes from", endpoint.Says[rights.User]()),
		endpoint.New("GET /_openapi.json", s.openAPI, "This description", endpoint.Says[endpoint.Anything]()),
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
	return httpapi.ProblemDetails{Status: http.StatusMethodNotAllowed, Title: "Method not allowed", Detail: r.Method + " is not possible here; use " + list, Allow: list}
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
