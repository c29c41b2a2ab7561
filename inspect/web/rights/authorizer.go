package rights

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// Gettable reports whether an object is a policy or a route that who asks may get. What keeps
// that from being known is failed.
func (a *UserAuthorizer) Gettable(ctx context.Context, failed *error) func(*api.Object) bool {
	u := CallerOf(ctx)
	known := map[AccessRequest]bool{}
	return func(o *api.Object) bool {
		t, _ := a.Catalog.Type(o.Kind)
		if !t.Policy && !t.Route || !u.InCluster() {
			return t.Policy || t.Route
		}
		want := AccessRequest{Verb: "get", Group: GroupOf(t), Resource: t.Plural, Namespace: o.Namespace}
		may, asked := known[want]
		if !asked && len(known) < MostChecks && *failed == nil {
			may, *failed = u.Has(ctx, want)
			known[want] = may
		}
		return may
	}
}

// ExplainsAll reports whether who asks may be told what applies to every dataplane, and so what
// there is in every namespace.
func (a *UserAuthorizer) ExplainsAll(ctx context.Context) (bool, error) {
	if !MustAsk(ctx) {
		return true, nil
	}
	u := CallerOf(ctx)
	t, _ := a.Catalog.Type(api.KindDataplane)
	return u.Has(ctx, AccessRequest{Verb: "get", Group: GroupOf(t), Resource: t.Plural, Subresource: "explain"})
}

// Explained reports whether a user may be told what applies to a dataplane. What keeps that
// from being known is failed; cut are dataplanes of more namespaces than are asked about.
func (a *UserAuthorizer) Explained(ctx context.Context, failed *error, cut *bool) func(api.Ref) bool {
	u := CallerOf(ctx)
	t, _ := a.Catalog.Type(api.KindDataplane)
	known := map[string]bool{}
	return func(ref api.Ref) bool {
		may, asked := known[ref.Namespace]
		if !asked && len(known) >= MostChecks {
			*cut = true
			return false
		}
		if !asked && *failed == nil {
			may, *failed = u.Has(ctx, AccessRequest{Verb: "get", Group: GroupOf(t), Resource: t.Plural, Subresource: "explain", Namespace: ref.Namespace})
			known[ref.Namespace] = may
		}
		return may
	}
}

// Lacks is the refusal of a user who has not an access.
func (a *UserAuthorizer) Lacks(u User, want AccessRequest) error {
	a.Log.Warn("refused a request", "user", httpapi.Truncate(u.Name), "verb", want.Verb, "resource", want.Resource, "subresource", want.Subresource, "namespace", httpapi.Truncate(want.Namespace), "status", http.StatusForbidden)
	what := want.Verb + " " + want.Resource
	if want.Subresource != "" {
		what += "/" + want.Subresource
	}
	if want.Path != "" {
		return httpapi.ProblemDetails{Status: http.StatusForbidden, Title: "Not allowed", Detail: u.Name + " may not get " + want.Path + "; ask for a ClusterRole with nonResourceURLs: [" + want.Path + "]"}
	}
	what += " of " + cmp.Or(want.Group, "the core group")
	where := "the whole cluster"
	if want.Namespace != "" {
		where = "namespace " + want.Namespace
	}
	return httpapi.ProblemDetails{Status: http.StatusForbidden, Title: "Not allowed", Detail: u.Name + " may not " + what + " in " + where + "; ask for a role that allows it, such as weft-view"}
}

// MayWrite refuses documents of kinds that a user may not get: what becomes of them tells what
// there is.
func (a *UserAuthorizer) MayWrite(ctx context.Context, objects []*api.Object) error {
	u := CallerOf(ctx)
	if !u.InCluster() {
		return nil
	}
	asked := map[AccessRequest]bool{}
	for _, o := range objects {
		t, ok := a.Catalog.Type(o.Kind)
		want := AccessRequest{Verb: "get", Group: GroupOf(t), Resource: t.Plural, Namespace: o.Namespace}
		if !ok || asked[want] {
			continue
		}
		if asked[want] = true; len(asked) > MostChecks {
			return httpapi.BadField("", fmt.Sprintf("the documents are of more than %d kinds and namespaces together; send those of fewer namespaces at once", MostChecks))
		}
		may, err := u.Has(ctx, want)
		if err != nil {
			return err
		}
		if !may {
			return a.Lacks(u, want)
		}
	}
	return nil
}

// UserAuthorizer asks the cluster what a user may, where the cluster decides that.
type UserAuthorizer struct {
	Catalog *api.Catalog
	Log     *slog.Logger
}
