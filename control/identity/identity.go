// Package identity says which pod a sidecar belongs to (spec/kubernetes.md 7): by the
// bound token of its service account, which the API server reviews.
//
// It promises that a pod can only be itself: neither another pod of its account, nor one
// that was not injected, nor one of the same name that came later. A review holds until
// its token ends, so that sidecars come back while the API server is away.
package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/limit"
)

// Reviewer asks the API server about a token; client-go's TokenReviews do it so.
type Reviewer interface {
	Review(context.Context, *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error)
}

// Pod is what has to be known of a pod, from what cannot be edited: its spec.
type Pod struct {
	UID     string
	Account string // its service account
	Mesh    string // of WEFT_MESH of its sidecar; empty where it was not injected
	Ended   bool   // Succeeded or Failed
}

// Pods are those that are known, as a cache has them.
type Pods interface {
	Pod(namespace, name string) (Pod, bool)
}

const (
	extraPodName = "authentication.kubernetes.io/pod-name"
	extraPodUID  = "authentication.kubernetes.io/pod-uid"
	account      = "system:serviceaccount:"

	// How many tokens are reviewed at once: those that say to be of a pod that is known, of
	// each pod from each address, and all others, of each address. A token may say what it
	// likes; so who forges them waits among those who forge (spec/threats.md T15).
	mostReviews    = 24
	mostOfPod      = 2
	mostUnknown    = 8
	mostOfAddress  = 2
	mostWaiting    = 4  // of a pod
	mostBehindThem = 64 // of an address

	// podPatience is how long a pod may be unknown here after the API server knows it.
	podPatience = 5 * time.Second
	longest     = 16 << 10 // of a token, in bytes
)

// DataplaneReviewer lets sidecars of pods in. It is a server.Authenticator.
type DataplaneReviewer struct {
	reviewer Reviewer
	pods     Pods
	ofPods   *limit.FairQueue // by the UID of the pod and the address
	others   *limit.FairQueue // by address
	refused  refusals

	mu    sync.Mutex
	known map[[sha256.Size]byte]reviewed
	sweep int // how many reviews there may be before those that ended are looked for
}

var _ authn.Authenticator = (*DataplaneReviewer)(nil)

// reviewed is what the API server said of a token.
type reviewed struct {
	namespace, account, pod, uid string
	expires                      time.Time
}

// NewDataplanes reviews by reviewer, and knows pods.
func NewDataplanes(reviewer Reviewer, pods Pods) *DataplaneReviewer {
	return &DataplaneReviewer{reviewer: reviewer, pods: pods, ofPods: limit.NewFairQueue(mostReviews, mostOfPod, mostWaiting), others: limit.NewFairQueue(mostUnknown, mostOfAddress, mostBehindThem), known: map[[sha256.Size]byte]reviewed{}, sweep: 1024}
}

// TokenOf is the Token of the Identity of a pod: server.Revoke with it ends the streams of
// a pod that is gone.
func TokenOf(podUID string) string { return "pod " + podUID }

// Authenticate is the dataplane of the pod that a token is bound to. It is
// Unauthenticated where the token is not good, PermissionDenied where its pod has no
// sidecar, and Unavailable where nobody can say.
func (d *DataplaneReviewer) Authenticate(ctx context.Context, token string) (authn.Identity, error) {
	r, err := d.review(ctx, token)
	if err != nil {
		return authn.Identity{}, err
	}
	p, err := d.wait(ctx, r)
	switch {
	case err != nil:
		return authn.Identity{}, err
	case p.UID != r.uid || p.Account != r.account:
		return authn.Identity{}, status.Errorf(codes.PermissionDenied, "the token is of an earlier pod %s of namespace %s; connect with one of its own", r.pod, r.namespace)
	case p.Ended:
		return authn.Identity{}, status.Errorf(codes.PermissionDenied, "the pod %s of namespace %s has ended", r.pod, r.namespace)
	case p.Mesh == "":
		return authn.Identity{}, status.Errorf(codes.PermissionDenied, "the pod %s of namespace %s was not injected: it has no container %s", r.pod, r.namespace, inject.SidecarContainer)
	}
	return authn.Identity{Dataplane: api.Ref{Kind: api.KindDataplane, Mesh: p.Mesh, Namespace: r.namespace, Name: r.pod}, Expires: r.expires, Token: TokenOf(r.uid)}, nil
}

// review is what the API server says, or said before.
func (d *DataplaneReviewer) review(ctx context.Context, token string) (reviewed, error) {
	c, err := shape(token, inject.TokenAudience, "weft-token")
	if err != nil {
		return reviewed{}, err
	}
	if c.Kubernetes.Namespace != "" && c.Kubernetes.Pod.Name == "" {
		return reviewed{}, status.Error(codes.Unauthenticated, unbound)
	}
	key := sha256.Sum256([]byte(token))
	if r, ok := d.kept(key); ok {
		return r, nil
	}
	if err := d.refused.of(key); err != nil {
		return reviewed{}, err
	}
	done, err := d.turn(ctx, c)
	if err != nil {
		return reviewed{}, err
	}
	defer done()
	if r, ok := d.kept(key); ok { // meanwhile
		return r, nil
	}
	answer, err := d.reviewer.Review(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{inject.TokenAudience}}})
	if err != nil {
		return reviewed{}, status.Error(codes.Unavailable, "the API server cannot review the token now; try again")
	}
	r, err := bound(&answer.Status)
	if err != nil {
		d.refused.keep(key, err)
		return reviewed{}, err
	}
	r.expires = c.ExpiresAt.Time
	d.keep(key, r)
	return r, nil
}

// turn waits until a token may be reviewed.
func (d *DataplaneReviewer) turn(ctx context.Context, c claims) (done func(), err error) {
	if p, ok := d.pods.Pod(c.Kubernetes.Namespace, c.Kubernetes.Pod.Name); ok && p.UID != "" && p.UID == c.Kubernetes.Pod.UID && p.Account == c.Kubernetes.Account.Name && p.Mesh != "" && !p.Ended {
		done, err = d.ofPods.Take(ctx, p.UID+" "+limit.From(ctx))
	} else {
		done, err = d.others.Take(ctx, limit.From(ctx))
	}
	switch {
	case errors.Is(err, limit.ErrQueue):
		return nil, status.Error(codes.Unavailable, "too many tokens are waiting to be reviewed; try again")
	case err != nil:
		return nil, status.FromContextError(err).Err()
	}
	return done, nil
}

// claims are what a token of a service account says.
type claims struct {
	jwt.RegisteredClaims
	Kubernetes struct {
		Namespace string
		Pod       struct{ Name, UID string }
		Account   struct{ Name string } `json:"serviceaccount"`
	} `json:"kubernetes.io"`
}

// shape refuses what need not be reviewed of tokens of a volume. It believes nothing: the review has the last word.
func shape(token, audience, volume string) (c claims, err error) {
	bad := func(why string) (claims, error) {
		return claims{}, status.Error(codes.Unauthenticated, why)
	}
	if token == "" {
		return bad("no token; give that of the pod's volume " + volume + " in the metadata key authorization")
	}
	if len(token) > longest {
		return bad("the token is too long for one of a service account")
	}
	if _, _, err := jwt.NewParser().ParseUnverified(token, &c); err != nil {
		return bad("the token is not one of a service account")
	}
	switch {
	case !slices.Contains(c.Audience, audience):
		return bad("the token is for another audience; give that of the pod's volume " + volume + ", for " + audience)
	case c.ExpiresAt == nil || !c.ExpiresAt.After(time.Now()):
		return bad("the token has ended; give the renewed one of the pod's volume " + volume)
	}
	return c, nil
}

const unbound = "the token is bound to no pod; give that of the pod's volume weft-token"

// bound is the pod that a review says the token is bound to.
func bound(s *authenticationv1.TokenReviewStatus) (reviewed, error) {
	user, ok := strings.CutPrefix(s.User.Username, account)
	namespace, name, named := strings.Cut(user, ":")
	if !s.Authenticated || !ok || !named || !slices.Contains(s.Audiences, inject.TokenAudience) {
		return reviewed{}, status.Error(codes.Unauthenticated, "the API server does not take the token for one of a service account, for "+inject.TokenAudience)
	}
	pod, uid := s.User.Extra[extraPodName], s.User.Extra[extraPodUID]
	if len(pod) != 1 || len(uid) != 1 || pod[0] == "" || uid[0] == "" {
		return reviewed{}, status.Error(codes.Unauthenticated, unbound)
	}
	return reviewed{namespace: namespace, account: name, pod: pod[0], uid: uid[0]}, nil
}

// wait is the pod of a review, which a cache may not have yet.
func (d *DataplaneReviewer) wait(ctx context.Context, r reviewed) (Pod, error) {
	end := time.NewTimer(podPatience)
	defer end.Stop()
	again := time.NewTicker(podPatience / 50)
	defer again.Stop()
	for {
		p, ok := d.pods.Pod(r.namespace, r.pod)
		if ok && p.UID == r.uid {
			return p, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return Pod{}, status.FromContextError(ctx.Err()).Err()
		case <-end.C:
			if ok {
				return p, nil
			}
			return Pod{}, status.Errorf(codes.Unavailable, "the control plane does not know the pod %s of namespace %s; try again", r.pod, r.namespace)
		}
	}
}

func (d *DataplaneReviewer) kept(key [sha256.Size]byte) (reviewed, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.known[key]
	return r, ok && r.expires.After(time.Now())
}

// keep forgets what ended whenever there is twice as much as was left the last time.
func (d *DataplaneReviewer) keep(key [sha256.Size]byte, r reviewed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[key] = r
	if len(d.known) < d.sweep {
		return
	}
	now := time.Now()
	for k, r := range d.known {
		if !r.expires.After(now) {
			delete(d.known, k)
		}
	}
	d.sweep = max(1024, 2*len(d.known))
}
