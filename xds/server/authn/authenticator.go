// Package authn finds out who opens a stream, and which dataplane that may be.
package authn

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
)

// Authenticator finds out who opens a stream, from the metadata key
// authorization without its "Bearer ". An error of a gRPC status keeps its code;
// any other is Unauthenticated.
type Authenticator interface {
	Authenticate(ctx context.Context, credentials string) (Identity, error)
}

// Anyone believes what clients say of themselves. It is for servers that only
// loopback can reach.
type Anyone struct{}

// Authenticate accepts.
func (Anyone) Authenticate(context.Context, string) (Identity, error) { return Identity{}, nil }

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

// VoidReason is why a credential is good no more that was good for a dataplane: who shows it is or was that
// dataplane.
type VoidReason struct {
	Dataplane api.Ref
	Why       string
}

// Error says why.
func (v *VoidReason) Error() string { return v.Why }

// GRPCStatus makes it a refusal.
func (v *VoidReason) GRPCStatus() *status.Status { return status.New(codes.Unauthenticated, v.Why) }
