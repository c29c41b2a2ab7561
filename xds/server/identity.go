package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
)

// How streams are refused and ended, those of ADS and those of agents.
var (
	ErrClosed  = status.Error(codes.Unavailable, "the control plane is stopping; try another or again")
	ErrEarly   = status.Error(codes.Unavailable, "the control plane has not read its store yet; try again")
	ErrExpired = status.Error(codes.Unauthenticated, "the token has expired; connect with a new one")
	ErrRevoked = status.Error(codes.Unauthenticated, "the token is revoked; connect with a new one")
)

// Void is why a credential is good no more that was good for a dataplane: who shows it is or was that
// dataplane.
type Void struct {
	Dataplane api.Ref
	Why       string
}

// Error says why.
func (v *Void) Error() string { return v.Why }

// GRPCStatus makes it a refusal.
func (v *Void) GRPCStatus() *status.Status { return status.New(codes.Unauthenticated, v.Why) }

// Authenticate finds out who opens a stream from its metadata alone. An error has a
// gRPC status.
func Authenticate(ctx context.Context, by Authenticator) (Identity, error) {
	credentials := ""
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if v := md.Get("authorization"); len(v) > 0 {
			credentials = v[0]
		}
	}
	if scheme, rest, ok := strings.Cut(credentials, " "); ok && strings.EqualFold(scheme, "bearer") {
		credentials = strings.TrimSpace(rest)
	}
	who, err := by.Authenticate(ctx, credentials)
	if err != nil {
		var with interface{ GRPCStatus() *status.Status }
		if errors.As(err, &with) {
			return Identity{}, err
		}
		return Identity{}, status.Error(codes.Unauthenticated, err.Error())
	}
	return who, nil
}

// Claim is the dataplane that a client may be which calls itself by a node id,
// <mesh>.<dataplane>: names are compared by what they stand for. An error has a gRPC
// status.
func (i Identity) Claim(id string, known func(api.Ref) bool) (api.Ref, error) {
	mesh, name, ok := strings.Cut(id, ".")
	if !ok || mesh == "" || name == "" {
		return api.Ref{}, status.Errorf(codes.InvalidArgument, "node id %q is not <mesh>.<dataplane>; set it in the bootstrap", cut(id, keptClaim))
	}
	claimed := api.Ref{Kind: api.KindDataplane, Mesh: mesh, Name: name}.Resolve(known)
	if i.Dataplane != (api.Ref{}) && i.Dataplane.Resolve(known) != claimed {
		return api.Ref{}, status.Errorf(codes.PermissionDenied, "the token is that of another dataplane than %s; issue one for it", cut(id, keptClaim))
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

// Gone waits until wait returns, or ctx is over.
func Gone(ctx context.Context, wait func()) error {
	gone := make(chan struct{})
	go func() {
		wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Await bounds how long a client may keep its first request to itself.
func Await[Q any](ctx context.Context, patience time.Duration, recv func() (Q, error)) (Q, error) {
	type answer struct {
		q   Q
		err error
	}
	got := make(chan answer, 1)
	go func() { // ends with the stream at the latest
		q, err := recv()
		got <- answer{q, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var none Q
	select {
	case a := <-got:
		return a.q, a.err
	case <-timer.C:
		return none, status.Error(codes.DeadlineExceeded, "no request came; ask for something first")
	case <-ctx.Done():
		return none, status.FromContextError(ctx.Err()).Err()
	}
}
