package auth

import (
	"context"
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/xds/server/authn"
)

// AuthenticateAs refuses who is not the dataplane that it says.
func AuthenticateAs(ctx context.Context, by authn.Authenticator, token string, ref api.Ref, snapshot *snapshot.Snapshot) (authn.Identity, error) {
	who, err := by.Authenticate(ctx, token)
	switch {
	case err != nil && status.Code(err) == codes.PermissionDenied:
		return who, httpapi.Refusal(http.StatusForbidden, status.Convert(err).Message())
	case err != nil && status.Code(err) == codes.Unavailable:
		return who, httpapi.Refusal(http.StatusServiceUnavailable, status.Convert(err).Message())
	case err != nil:
		return who, unauthorized{httpapi.Refusal(http.StatusUnauthorized, status.Convert(err).Message()), err}
	case who.Dataplane.Name != "" && who.Dataplane.Resolve(snapshot.Has) != ref:
		return who, httpapi.Refusal(http.StatusForbidden, fmt.Sprintf("the token is for another dataplane than %s; issue one with `weft token dataplane`", ref))
	}
	return who, nil
}

// unauthorized is the refusal of a bootstrap, and what it comes from.
type unauthorized struct {
	error
	cause error
}

// Unwrap are both.
func (u unauthorized) Unwrap() []error { return []error{u.error, u.cause} }
