package identity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/weftmesh/weft/xds/server/limit"
)

// AudienceAPI is that of tokens by which users ask the API of weft: `kubectl create token
// NAME --audience weft-api`.
const AudienceAPI = "weft-api"

const (
	// answered is how long the API server's word on a user holds.
	answered = 30 * time.Second
	// mostAnswers bounds what is remembered of it.
	mostAnswers = 16 << 10

	// How many questions are asked at once: of tokens, of each address; and of users who are
	// known, of each of them.
	mostTokens     = 16
	mostQuestions  = 32
	mostOfUser     = 16
	mostQuestioned = 256 // of a user, or an address, that wait
)

// ErrNobody is that a token is good for nothing here.
var ErrNobody = errors.New("the API server does not know the token, or not for the audience " + AudienceAPI + "; send one of `kubectl create token ACCOUNT --audience " + AudienceAPI + "` as Authorization: Bearer")

// errAway is that the API server does not answer, or not what it should.
var errAway = errors.New("the API server does not say now who may do what; try again")

// User is who the API server says somebody is.
type User struct {
	Name   string
	Groups []string

	uid   string
	extra map[string]authenticationv1.ExtraValue
}

// AccessRequest is what a user wants: a verb with a resource of a namespace, all or the one that is
// named, or with a Path instead.
type AccessRequest struct {
	Verb, Group, Resource, Subresource, Namespace, Name, Path string
}

// String is the access as RBAC would grant it.
func (a AccessRequest) String() string {
	if a.Path != "" {
		return a.Verb + " " + a.Path
	}
	out := a.Verb + " " + a.Resource
	if a.Group != "" {
		out += "." + a.Group
	}
	if a.Subresource != "" {
		out += "/" + a.Subresource
	}
	if a.Namespace != "" {
		return out + " in namespace " + a.Namespace
	}
	return out + " in the whole cluster"
}

// Users asks the API server who users are and what they may do (spec/kubernetes.md 7.5).
// Answers hold for half a minute. Who sends tokens that are good for nothing keeps no user
// waiting whom the API server knows.
type Users struct {
	server *APIServer
	tokens *limit.FairQueue // by address
	rights *limit.FairQueue // by user
	nobody refusals

	mu      sync.Mutex
	answers map[[sha256.Size]byte]answer
}

// answer is what was said: of a token who, of an access whether.
type answer struct {
	user User
	yes  bool
	ends time.Time
}

// NewUsers asks server.
func NewUsers(server *APIServer) *Users {
	return &Users{server: server, tokens: limit.NewFairQueue(mostTokens, mostOfAddress, mostQuestioned), rights: limit.NewFairQueue(mostQuestions, mostOfUser, mostQuestioned), answers: map[[sha256.Size]byte]answer{}}
}

// WhoIs is whose token it is: one for AudienceAPI, or where anyAudience is set one for the API
// server itself. It is ErrNobody where the token is not good; other errors are the API
// server's.
func (u *Users) WhoIs(ctx context.Context, token string, anyAudience bool) (User, error) {
	var audiences []string // none is the API server's
	if !anyAudience || isFor(token, AudienceAPI) {
		audiences = []string{AudienceAPI}
	}
	if token == "" || len(token) > longest || len(audiences) > 0 && !isFor(token, AudienceAPI) {
		return User{}, ErrNobody
	}
	k := key("token", token, audiences)
	if err := u.nobody.of(k); err != nil {
		return User{}, err
	}
	got, err := u.ask(ctx, k, u.tokens, limit.From(ctx), func() (answer, error) {
		q, err := u.server.Review(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}})
		if err != nil {
			return answer{}, err
		}
		s := q.Status
		good := s.Authenticated && s.User.Username != "" && (audiences == nil || slices.Contains(s.Audiences, AudienceAPI))
		return answer{yes: good, user: User{s.User.Username, s.User.Groups, s.User.UID, s.User.Extra}}, nil
	})
	if err == nil && !got.yes {
		err = ErrNobody
		u.nobody.keep(k, err)
	}
	return got.user, err
}

// isFor reports whether a token says that it is for an audience.
func isFor(token, audience string) bool {
	var c jwt.RegisteredClaims
	_, _, err := jwt.NewParser().ParseUnverified(token, &c)
	return err == nil && slices.Contains(c.Audience, audience)
}

// May reports whether the API server allows a user an access. An error is the API server's.
func (u *Users) May(ctx context.Context, who User, a AccessRequest) (bool, error) {
	got, err := u.ask(ctx, accessKey(who, a), u.rights, who.Name, func() (answer, error) {
		q := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: who.Name, UID: who.uid, Groups: who.Groups, Extra: map[string]authorizationv1.ExtraValue{}}}
		q.APIVersion, q.Kind = authorizationv1.SchemeGroupVersion.String(), "SubjectAccessReview"
		for k, v := range who.extra {
			q.Spec.Extra[k] = authorizationv1.ExtraValue(v)
		}
		if a.Path != "" {
			q.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.Path, Verb: a.Verb}
		} else {
			q.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: a.Verb, Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name}
		}
		out := new(authorizationv1.SubjectAccessReview)
		err := u.server.post(ctx, "/apis/authorization.k8s.io/v1/subjectaccessreviews", q, out)
		return answer{yes: out.Status.Allowed && !out.Status.Denied}, err
	})
	return got.yes, err
}

// Cached is what May said lately, without asking again.
func (u *Users) Cached(who User, a AccessRequest) (may, known bool) {
	got, known := u.remembered(accessKey(who, a))
	return got.yes, known
}

func accessKey(who User, a AccessRequest) [sha256.Size]byte {
	return key("access", who.Name, who.uid, who.Groups, who.extra, a)
}

// key is that of a question. Tokens are kept by their hash alone.
func key(parts ...any) [sha256.Size]byte {
	text, _ := json.Marshal(parts) // of texts and maps of them it does not fail
	return sha256.Sum256(text)
}

// ask asks when it is the turn of who asks, unless the answer is remembered.
func (u *Users) ask(ctx context.Context, k [sha256.Size]byte, turns *limit.FairQueue, who string, question func() (answer, error)) (answer, error) {
	if a, ok := u.remembered(k); ok {
		return a, nil
	}
	done, err := turns.Take(ctx, who)
	if err != nil {
		return answer{}, err
	}
	defer done()
	if a, ok := u.remembered(k); ok { // meanwhile
		return a, nil
	}
	a, err := question()
	switch {
	case err != nil && ctx.Err() != nil:
		return answer{}, ctx.Err()
	case err != nil: // why is in the log, and not for who asks
		return answer{}, errAway
	}
	a.ends = time.Now().Add(answered)
	if turns == u.rights || a.yes {
		u.remember(k, a)
	}
	return a, nil
}

// remember keeps an answer, and where there are too many forgets those that ended, or some
// other.
func (u *Users) remember(k [sha256.Size]byte, a answer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.answers) >= mostAnswers {
		now := time.Now()
		maps.DeleteFunc(u.answers, func(_ [sha256.Size]byte, old answer) bool { return !old.ends.After(now) })
	}
	for some := range u.answers {
		if len(u.answers) < mostAnswers {
			break
		}
		delete(u.answers, some)
	}
	u.answers[k] = a
}

func (u *Users) remembered(k [sha256.Size]byte) (answer, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	a, ok := u.answers[k]
	return a, ok && a.ends.After(time.Now())
}
