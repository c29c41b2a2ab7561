// Package rights is who a request comes from, and what its sender may do and see: administrators, users
// with tokens, who may only ask, and users of a cluster, whose rights the cluster keeps.
package rights

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/weftmesh/weft/api"
)

// Users says who asks and what they may, where the cluster that holds the documents decides
// that (spec/kubernetes.md 7.5).
type Users interface {
	// WhoIs is whose token it is. The error is an ErrNobody where it is not good.
	WhoIs(ctx context.Context, token string) (ClusterUser, error)
}

// ErrNobody is that a token is good for nothing.
var ErrNobody = errors.New("the request carries no valid token")

// ClusterUser is one user of a cluster.
type ClusterUser struct {
	Name   string
	Groups []string
	// May reports whether the user has an access. An error is that nobody can say.
	May func(context.Context, AccessRequest) (bool, error)
	// Cached is what May said of an access lately, without asking again; nil remembers nothing.
	Cached func(AccessRequest) (may, known bool)
}

// AccessRequest is what a user wants, as RBAC calls it: a verb with a resource of a namespace, of all
// where it is empty, and one object where it is named; or with a Path of this API.
type AccessRequest struct {
	Verb, Group, Resource, Subresource, Namespace, Name, Path string
}

// AnyName is the access to all objects of the namespace: a question about one object tells of
// others too.
func (a AccessRequest) AnyName() AccessRequest {
	a.Name = ""
	return a
}

// GroupOf is the group of a type at an API server.
func GroupOf(t api.Type) string {
	if t.Group == api.CoreGroup {
		return ""
	}
	return cmp.Or(t.Group, "kuma.io")
}

// MustAsk reports whether who asks is a user whose rights somebody else keeps.
func MustAsk(ctx context.Context) bool {
	return CallerOf(ctx).InCluster()
}

// User is the member as requests come from it.
func (m *ClusterUser) User() User {
	return User{Name: m.Name, Groups: append(slices.Clone(m.Groups), authenticated), may: m.May, cached: m.Cached}
}
