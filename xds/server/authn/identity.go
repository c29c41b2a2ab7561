package authn

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/truncate"
)

// What ends the streams of a credential.
var (
	ErrExpired = status.Error(codes.Unauthenticated, "the token has expired; connect with a new one")
	ErrRevoked = status.Error(codes.Unauthenticated, "the token is revoked; connect with a new one")
)

// Identity is who opened a stream.
type Identity struct {
	// Dataplane is the only one that the stream may be. Where it is zero,
	// whoever the client says to be is believed.
	Dataplane api.Ref
	// Expires ends the stream; zero is never.
	Expires time.Time
	// Token is the id of the credential, by which it can be revoked.
	Token string
	// Proof is what the credential binds: for each of the tags and labels the values
	// that the dataplane may have, and its workload. Empty binds nothing.
	api.Proof
}

// Claim is the dataplane that a client may be which calls itself by a node id,
// <mesh>.<dataplane>: names are compared by what they stand for. An error has a gRPC
// status.
func (i Identity) Claim(id string, known func(api.Ref) bool) (api.Ref, error) {
	mesh, name, ok := strings.Cut(id, ".")
	if !ok || mesh == "" || name == "" {
		return api.Ref{}, status.Errorf(codes.InvalidArgument, "node id %q is not <mesh>.<dataplane>; set it in the bootstrap", truncate.Text(id, truncate.Claim))
	}
	claimed := api.Ref{Kind: api.KindDataplane, Mesh: mesh, Name: name}.Resolve(known)
	if i.Dataplane != (api.Ref{}) && i.Dataplane.Resolve(known) != claimed {
		return api.Ref{}, status.Errorf(codes.PermissionDenied, "the token is that of another dataplane than %s; issue one for it", truncate.Text(id, truncate.Claim))
	}
	return claimed, nil
}

// Expire ends what the identity opened when it expires, unless stop is called before.
func (i Identity) Expire(end context.CancelCauseFunc) (stop func()) {
	if i.Expires.IsZero() {
		return func() {}
	}
	timer := time.AfterFunc(time.Until(i.Expires), func() { end(ErrExpired) })
	return func() { timer.Stop() }
}
