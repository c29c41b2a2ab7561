package rights

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// Admins is the group that may do everything; other users may ask and not change.
const Admins = "mesh-system:admin"

// authenticated is the group of everybody.
const authenticated = "mesh-system:authenticated"

// User is who a request comes from.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
	logged string   // in place of Name where nobody had to say who it is
	client string   // what the request says of its program
	asks   bool     // it may change nothing
	// may asks the cluster, and said is what it said lately; nil where it has no say.
	may    func(context.Context, AccessRequest) (bool, error)
	cached func(AccessRequest) (may, known bool)
}

// Administrator is who has the admin token.
func Administrator() User {
	return User{Name: Admins, Groups: []string{Admins, authenticated}}
}

// Anybody is who needs no token.
func Anybody() User {
	u := Administrator()
	u.logged = "anonymous"
	return u
}

// UserOf is a user to whom a token was issued, who may only ask without the group of administrators.
func UserOf(name string, groups []string) User {
	return User{Name: name, Groups: append(groups, authenticated), asks: !slices.Contains(groups, Admins)}
}

type userKey struct{}

// CallerOf is who a request comes from; nobody for a context of something else.
func CallerOf(ctx context.Context) User {
	u, _ := ctx.Value(userKey{}).(User)
	return u
}

// From is a request that comes from a user.
func (u User) From(r *http.Request) *http.Request {
	u.client = httpapi.Truncate(r.UserAgent())
	return r.WithContext(context.WithValue(r.Context(), userKey{}, u))
}

// Caller is who a request comes from, for logs: the subject of the token, or
// anonymous where none is needed, and the program. It is false for a context of
// something else.
func Caller(ctx context.Context) (name, client string, ok bool) {
	u, ok := ctx.Value(userKey{}).(User)
	return cmp.Or(u.logged, u.Name), u.client, ok
}

// Administers reports whether a user is an administrator.
func (u User) Administers() bool { return slices.Contains(u.Groups, Admins) }

// OnlyAsks reports whether a user may change nothing.
func (u User) OnlyAsks() bool { return u.asks }

// Bounded reports whether a user sends within the bounds of those who are not trusted not to
// send too much: all but administrators.
func (u User) Bounded() bool { return u.InCluster() || u.asks }

// InCluster reports whether the cluster keeps what a user may.
func (u User) InCluster() bool { return u.may != nil }

// Has reports whether a user whose rights the cluster keeps has an access.
func (u User) Has(ctx context.Context, want AccessRequest) (bool, error) {
	may, err := u.may(ctx, want)
	if err != nil {
		err = httpapi.ProblemDetails{Status: http.StatusServiceUnavailable, Title: "Not known", Detail: err.Error()}
	}
	return may, err
}

// MayOnlyAsk is the refusal of a user who wants to change something.
func MayOnlyAsk(name string) string {
	return name + " is not in the group " + Admins + " and may only ask; use a token of an administrator"
}

// MayChange refuses who was let in only to ask.
func MayChange(ctx context.Context) error {
	if u := CallerOf(ctx); u.OnlyAsks() {
		return httpapi.ProblemDetails{Status: http.StatusForbidden, Title: "Not allowed", Detail: MayOnlyAsk(u.Name)}
	}
	return nil
}
