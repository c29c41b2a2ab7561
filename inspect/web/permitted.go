package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/rights"
)

// described are the paths that say nothing of documents.
var described = []string{"/{$}", "/healthz", "/readyz", "/who-am-i", "/_resources", "/policies", "/_openapi.json", "/_schemas/{kind}"}

// envoyQuestions are those that only the Envoy of a sidecar answers.
var envoyQuestions = []string{"xds", "stats", "clusters", "_config"}

// tapsPath is where live requests are watched.
const tapsPath = "/meshes/{mesh}/_taps"

// wholeMesh is what all need that speaks of everybody's documents.
var wholeMesh = rights.AccessRequest{Verb: "list", Group: "kuma.io", Resource: "meshes"}

// permitted answers what a path has to those alone whom the cluster allows it: to everybody
// who may ask at all where no cluster decides.
func (s *server) permitted(pattern string, next http.Handler) http.Handler {
	if s.Users == nil {
		return next
	}
	_, path, _ := strings.Cut(pattern, " ")
	return s.serve(func(w http.ResponseWriter, r *http.Request) error {
		u := rights.CallerOf(r.Context())
		if !u.InCluster() || slices.Contains(described, path) || path == "/_apply" || path == tapsPath { // which ask by document
			next.ServeHTTP(w, r)
			return nil
		}
		want, part := s.access(path, r)
		may, err := u.Has(r.Context(), want)
		switch {
		case err != nil:
			return err
		case !may && part == (rights.AccessRequest{}):
			return s.authorizer.Lacks(u, want)
		case !may:
			r = u.Cut(r, part)
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// access is what a path needs. Of an answer that may be cut to namespaces it says what each of
// them needs; else part is empty.
func (s *server) access(path string, r *http.Request) (want, part rights.AccessRequest) {
	want, cut := s.accessTo(path, r)
	switch {
	case path == "/meshes/{mesh}/_status", path == "/_problems":
		dataplanes, _ := s.Catalog.Type(api.KindDataplane)
		part = rights.AccessRequest{Verb: "get", Group: rights.GroupOf(dataplanes), Resource: dataplanes.Plural, Subresource: "explain"}
	case cut:
		part = want
	}
	return want, part
}

// accessTo is what a path needs to be answered as a whole, and whether who has that in some
// namespaces alone is told of those.
func (s *server) accessTo(path string, r *http.Request) (want rights.AccessRequest, cut bool) {
	of := func(t api.Type, verb, subresource string, ref api.Ref) rights.AccessRequest {
		return rights.AccessRequest{Verb: verb, Group: rights.GroupOf(t), Resource: t.Plural, Subresource: subresource, Namespace: ref.Namespace, Name: ref.Name}
	}
	dataplanes, _ := s.Catalog.Type(api.KindDataplane)
	explain := func(kind string) rights.AccessRequest {
		return of(dataplanes, "get", "explain", s.source.RefOf(r, kind)).AnyName()
	}
	parts := strings.Split(strings.TrimPrefix(path, "/meshes/{mesh}/"), "/")
	t, known := s.Catalog.ByPlural(r.PathValue("plural"))
	switch {
	case path == "/metrics", path == "/metrics/traffic", path == "/config":
		return rights.AccessRequest{Verb: "get", Path: path}, false
	case strings.HasPrefix(path, "/tokens/"):
		return rights.AccessRequest{Verb: "create", Group: "kuma.io", Resource: "dataplanes", Subresource: "token"}, false
	case strings.HasPrefix(path, "/meshes/{mesh}/_authorities/"):
		return rights.AccessRequest{Verb: "update", Group: "kuma.io", Resource: "meshes", Subresource: "authority", Name: r.PathValue("mesh")}, false
	case path == "/meshes", path == "/meshes/{mesh}" && r.Method == http.MethodGet:
		mesh, _ := s.Catalog.Type(api.KindMesh)
		if path == "/meshes" {
			return of(mesh, "list", "", api.Ref{}), false
		}
		return of(mesh, "get", "", api.Ref{Name: r.PathValue("mesh")}), false
	case strings.HasPrefix(path, "/k8s/") && known:
		ref, _ := s.source.KubernetesRef(r)
		return of(t, "get", "", ref), false
	case path == "/meshes/{mesh}/_sidecars", path == "/meshes/{mesh}/_traffic", path == "/meshes/{mesh}/dataplanes/_overview", path == "/dataplanes/_overview", path == "/meshes/{mesh}/dataplanes+insights":
		return of(dataplanes, "list", "", api.Ref{}), true
	case path == "/meshes/{mesh}/dataplanes/{name}/_overview", path == "/meshes/{mesh}/dataplanes+insights/{name}":
		return of(dataplanes, "get", "", s.source.RefOf(r, api.KindDataplane)), false
	case path == "/meshes/{mesh}/_requests", path == "/meshes/{mesh}/_requests/{id}":
		return of(dataplanes, "get", "requests", api.Ref{}), true
	case path == "/meshes/{mesh}/dataplanes/{name}/_requests":
		return of(dataplanes, "get", "requests", s.source.RefOf(r, api.KindDataplane)), false
	case strings.HasPrefix(path, "/meshes/{mesh}/dataplanes/{name}/") && slices.Contains(envoyQuestions, parts[2]):
		return of(dataplanes, "get", "envoy", s.source.RefOf(r, api.KindDataplane)), false
	case strings.HasPrefix(path, "/meshes/{mesh}/dataplanes/{name}/"):
		return explain(api.KindDataplane), false
	case (path == "/meshes/{mesh}/{plural}" || path == "/{plural}") && known:
		return of(t, "list", "", api.Ref{}), !t.Global && !t.Unscoped
	case (path == "/meshes/{mesh}/{plural}/{name}" || path == "/{plural}/{name}") && known:
		return of(t, "get", "", s.source.RefOf(r, t.Name)), false
	case strings.HasPrefix(path, "/meshes/{mesh}/{plural}/{name}/") && known:
		return explain(t.Name), false
	}
	return wholeMesh, false
}
