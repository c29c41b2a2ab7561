package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// Users says who asks and what they may, where the cluster that holds the documents decides
// that (spec/kubernetes.md 7.5).
type Users interface {
	// WhoIs is whose token it is. The error is an ErrNobody where it is not good.
	WhoIs(ctx context.Context, token string) (Member, error)
}

// ErrNobody is that a token is good for nothing.
var ErrNobody = errors.New("the request carries no valid token")

// Member is one user of a cluster.
type Member struct {
	Name   string
	Groups []string
	// May reports whether the user has an access. An error is that nobody can say.
	May func(context.Context, Access) (bool, error)
	// Said is what May said of an access lately, without asking again; nil remembers nothing.
	Said func(Access) (may, known bool)
}

// Access is what a user wants, as RBAC calls it: a verb with a resource of a namespace, of all
// where it is empty, and one object where it is named; or with a Path of this API.
type Access struct {
	Verb, Group, Resource, Subresource, Namespace, Name, Path string
}

// described are the paths that say nothing of documents.
var described = []string{"/{$}", "/healthz", "/readyz", "/who-am-i", "/_resources", "/policies", "/_openapi.json", "/_schemas/{kind}"}

// envoyQuestions are those that only the Envoy of a sidecar answers.
var envoyQuestions = []string{"xds", "stats", "clusters", "_config"}

// wholeMesh is what all need that speaks of everybody's documents.
var wholeMesh = Access{Verb: "list", Group: "kuma.io", Resource: "meshes"}

// permitted answers what a path has to those alone whom the cluster allows it: to everybody
// who may ask at all where no cluster decides.
func (s *server) permitted(pattern string, next http.Handler) http.Handler {
	if s.Users == nil {
		return next
	}
	_, path, _ := strings.Cut(pattern, " ")
	return s.serve(func(w http.ResponseWriter, r *http.Request) error {
		u := callerOf(r.Context())
		if !u.inCluster() || slices.Contains(described, path) || path == "/_apply" { // which asks by document
			next.ServeHTTP(w, r)
			return nil
		}
		want, part := s.access(path, r)
		may, err := u.has(r.Context(), want)
		switch {
		case err != nil:
			return err
		case !may && part == (Access{}):
			return s.authorizer.lacks(u, want)
		case !may:
			r = u.cut(r, part)
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// lacks is the refusal of a user who has not an access.
func (a *authorizer) lacks(u user, want Access) error {
	a.Log.Warn("refused a request", "user", httpapi.Truncate(u.Name), "verb", want.Verb, "resource", want.Resource, "subresource", want.Subresource, "namespace", httpapi.Truncate(want.Namespace), "status", http.StatusForbidden)
	what := want.Verb + " " + want.Resource
	if want.Subresource != "" {
		what += "/" + want.Subresource
	}
	if want.Path != "" {
		return httpapi.Problem{Status: http.StatusForbidden, Title: "Not allowed", Detail: u.Name + " may not get " + want.Path + "; ask for a ClusterRole with nonResourceURLs: [" + want.Path + "]"}
	}
	what += " of " + cmp.Or(want.Group, "the core group")
	where := "the whole cluster"
	if want.Namespace != "" {
		where = "namespace " + want.Namespace
	}
	return httpapi.Problem{Status: http.StatusForbidden, Title: "Not allowed", Detail: u.Name + " may not " + what + " in " + where + "; ask for a role that allows it, such as weft-view"}
}

// access is what a path needs. Of an answer that may be cut to namespaces it says what each of
// them needs; else part is empty.
func (s *server) access(path string, r *http.Request) (want, part Access) {
	want, cut := s.accessTo(path, r)
	switch {
	case path == "/meshes/{mesh}/_status", path == "/_problems":
		dataplanes, _ := s.Catalog.Type(api.KindDataplane)
		part = Access{Verb: "get", Group: groupOf(dataplanes), Resource: dataplanes.Plural, Subresource: "explain"}
	case cut:
		part = want
	}
	return want, part
}

// accessTo is what a path needs to be answered as a whole, and whether who has that in some
// namespaces alone is told of those.
func (s *server) accessTo(path string, r *http.Request) (want Access, cut bool) {
	of := func(t api.Type, verb, subresource string, ref api.Ref) Access {
		return Access{Verb: verb, Group: groupOf(t), Resource: t.Plural, Subresource: subresource, Namespace: ref.Namespace, Name: ref.Name}
	}
	dataplanes, _ := s.Catalog.Type(api.KindDataplane)
	explain := func(kind string) Access { return of(dataplanes, "get", "explain", s.source.refOf(r, kind)).anyName() }
	parts := strings.Split(strings.TrimPrefix(path, "/meshes/{mesh}/"), "/")
	t, known := s.Catalog.ByPlural(r.PathValue("plural"))
	switch {
	case path == "/metrics", path == "/config":
		return Access{Verb: "get", Path: path}, false
	case strings.HasPrefix(path, "/tokens/"):
		return Access{Verb: "create", Group: "kuma.io", Resource: "dataplanes", Subresource: "token"}, false
	case strings.HasPrefix(path, "/meshes/{mesh}/_authorities/"):
		return Access{Verb: "update", Group: "kuma.io", Resource: "meshes", Subresource: "authority", Name: r.PathValue("mesh")}, false
	case path == "/meshes", path == "/meshes/{mesh}" && r.Method == http.MethodGet:
		mesh, _ := s.Catalog.Type(api.KindMesh)
		if path == "/meshes" {
			return of(mesh, "list", "", api.Ref{}), false
		}
		return of(mesh, "get", "", api.Ref{Name: r.PathValue("mesh")}), false
	case strings.HasPrefix(path, "/k8s/") && known:
		ref, _ := s.source.kubernetesRef(r)
		return of(t, "get", "", ref), false
	case path == "/meshes/{mesh}/_sidecars", path == "/meshes/{mesh}/dataplanes/_overview", path == "/dataplanes/_overview", path == "/meshes/{mesh}/dataplanes+insights":
		return of(dataplanes, "list", "", api.Ref{}), true
	case path == "/meshes/{mesh}/dataplanes/{name}/_overview", path == "/meshes/{mesh}/dataplanes+insights/{name}":
		return of(dataplanes, "get", "", s.source.refOf(r, api.KindDataplane)), false
	case strings.HasPrefix(path, "/meshes/{mesh}/dataplanes/{name}/") && slices.Contains(envoyQuestions, parts[2]):
		return of(dataplanes, "get", "envoy", s.source.refOf(r, api.KindDataplane)), false
	case strings.HasPrefix(path, "/meshes/{mesh}/dataplanes/{name}/"):
		return explain(api.KindDataplane), false
	case (path == "/meshes/{mesh}/{plural}" || path == "/{plural}") && known:
		return of(t, "list", "", api.Ref{}), !t.Global && !t.Unscoped
	case (path == "/meshes/{mesh}/{plural}/{name}" || path == "/{plural}/{name}") && known:
		return of(t, "get", "", s.source.refOf(r, t.Name)), false
	case strings.HasPrefix(path, "/meshes/{mesh}/{plural}/{name}/") && known:
		return explain(t.Name), false
	}
	return wholeMesh, false
}

// anyName is the access to all objects of the namespace: a question about one object tells of
// others too.
func (a Access) anyName() Access {
	a.Name = ""
	return a
}

// groupOf is the group of a type at an API server.
func groupOf(t api.Type) string {
	if t.Group == api.CoreGroup {
		return ""
	}
	return cmp.Or(t.Group, "kuma.io")
}

// mustAsk reports whether who asks is a user whose rights somebody else keeps.
func mustAsk(ctx context.Context) bool {
	return callerOf(ctx).inCluster()
}

// mayWrite refuses documents of kinds that a user may not get: what becomes of them tells what
// there is.
func (a *authorizer) mayWrite(ctx context.Context, objects []*api.Object) error {
	u := callerOf(ctx)
	if !u.inCluster() {
		return nil
	}
	asked := map[Access]bool{}
	for _, o := range objects {
		t, ok := a.Catalog.Type(o.Kind)
		want := Access{Verb: "get", Group: groupOf(t), Resource: t.Plural, Namespace: o.Namespace}
		if !ok || asked[want] {
			continue
		}
		if asked[want] = true; len(asked) > mostAsked {
			return httpapi.BadField("", fmt.Sprintf("the documents are of more than %d kinds and namespaces together; send those of fewer namespaces at once", mostAsked))
		}
		may, err := u.has(ctx, want)
		if err != nil {
			return err
		}
		if !may {
			return a.lacks(u, want)
		}
	}
	return nil
}
