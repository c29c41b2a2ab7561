package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// admins is the group that may do everything; other users may ask and not change.
const admins = "mesh-system:admin"

// authenticated is the group of everybody.
const authenticated = "mesh-system:authenticated"

// user is who a request comes from.
type user struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
	logged string   // in place of Name where nobody had to say who it is
	client string   // what the request says of its program
	asks   bool     // it may change nothing
	// may asks the cluster, and said is what it said lately; nil where it has no say.
	may  func(context.Context, Access) (bool, error)
	said func(Access) (may, known bool)
}

// administrator is who has the admin token.
func administrator() user {
	return user{Name: admins, Groups: []string{admins, authenticated}}
}

// anybody is who needs no token.
func anybody() user {
	u := administrator()
	u.logged = "anonymous"
	return u
}

// userOf is a user to whom a token was issued, who may only ask without the group of administrators.
func userOf(name string, groups []string) user {
	return user{Name: name, Groups: append(groups, authenticated), asks: !slices.Contains(groups, admins)}
}

// user is the member as requests come from it.
func (m *Member) user() user {
	return user{Name: m.Name, Groups: append(slices.Clone(m.Groups), authenticated), may: m.May, said: m.Said}
}

type userKey struct{}

// callerOf is who a request comes from; nobody for a context of something else.
func callerOf(ctx context.Context) user {
	u, _ := ctx.Value(userKey{}).(user)
	return u
}

// from is a request that comes from a user.
func (u user) from(r *http.Request) *http.Request {
	u.client = httpapi.Truncate(r.UserAgent())
	return r.WithContext(context.WithValue(r.Context(), userKey{}, u))
}

// Caller is who a request comes from, for logs: the subject of the token, or
// anonymous where none is needed, and the program. It is false for a context of
// something else.
func Caller(ctx context.Context) (name, client string, ok bool) {
	u, ok := ctx.Value(userKey{}).(user)
	return cmp.Or(u.logged, u.Name), u.client, ok
}

// administers reports whether a user is an administrator.
func (u user) administers() bool { return slices.Contains(u.Groups, admins) }

// onlyAsks reports whether a user may change nothing.
func (u user) onlyAsks() bool { return u.asks }

// bounded reports whether a user sends within the bounds of those who are not trusted not to
// send too much: all but administrators.
func (u user) bounded() bool { return u.inCluster() || u.asks }

// inCluster reports whether the cluster keeps what a user may.
func (u user) inCluster() bool { return u.may != nil }

// has reports whether a user whose rights the cluster keeps has an access.
func (u user) has(ctx context.Context, want Access) (bool, error) {
	may, err := u.may(ctx, want)
	if err != nil {
		err = httpapi.Problem{Status: http.StatusServiceUnavailable, Title: "Not known", Detail: err.Error()}
	}
	return may, err
}

// mayOnlyAsk is the refusal of a user who wants to change something.
func mayOnlyAsk(name string) string {
	return name + " is not in the group " + admins + " and may only ask; use a token of an administrator"
}

// mayChange refuses who was let in only to ask.
func mayChange(ctx context.Context) error {
	if u := callerOf(ctx); u.onlyAsks() {
		return httpapi.Problem{Status: http.StatusForbidden, Title: "Not allowed", Detail: mayOnlyAsk(u.Name)}
	}
	return nil
}
