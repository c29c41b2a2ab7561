package identity

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/limit"
)

// PeerAudience is that of the tokens by which replicas of a control plane know each other
// (spec/kubernetes.md 6.4).
const PeerAudience = "weft-peer"

// mostPeers bounds the reviews that are kept.
const mostPeers = 128

// PeerReviewer lets in the replicas of a control plane: who has a token of its service account, for
// PeerAudience. A review holds until its token ends, as for DataplaneReviewer.
type PeerReviewer struct {
	reviewer Reviewer
	user     string
	turns    *limit.FairQueue // by address
	refused  refusals

	mu    sync.Mutex
	known map[[sha256.Size]byte]time.Time // when tokens of peers end
}

var _ authn.Authenticator = (*PeerReviewer)(nil)

// NewPeers lets in a service account of a namespace.
func NewPeers(reviewer Reviewer, namespace, name string) *PeerReviewer {
	return &PeerReviewer{reviewer: reviewer, user: account + namespace + ":" + name, turns: limit.NewFairQueue(mostUnknown, mostOfAddress, mostWaiting), known: map[[sha256.Size]byte]time.Time{}}
}

// Authenticate is Unauthenticated where the token is not good, PermissionDenied where it is
// that of somebody else, and Unavailable where nobody can say.
func (p *PeerReviewer) Authenticate(ctx context.Context, token string) (authn.Identity, error) {
	c, err := shape(token, PeerAudience, "weft-peer")
	if err != nil {
		return authn.Identity{}, err
	}
	key, who := sha256.Sum256([]byte(token)), authn.Identity{Expires: c.ExpiresAt.Time}
	if p.has(key) {
		return who, nil
	}
	if err := p.refused.of(key); err != nil {
		return authn.Identity{}, err
	}
	done, err := p.turns.Take(ctx, limit.From(ctx))
	if err != nil {
		return authn.Identity{}, status.Error(codes.Unavailable, "too many tokens are waiting to be reviewed; try again")
	}
	defer done()
	answer, err := p.reviewer.Review(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{PeerAudience}}})
	switch {
	case err != nil:
		return authn.Identity{}, status.Error(codes.Unavailable, "the API server cannot review the token now; try again")
	case !answer.Status.Authenticated || !slices.Contains(answer.Status.Audiences, PeerAudience):
		err = status.Error(codes.Unauthenticated, "the API server does not take the token for one of a service account, for "+PeerAudience)
	case answer.Status.User.Username != p.user:
		err = status.Error(codes.PermissionDenied, "the token is not that of a control plane")
	}
	if err != nil {
		p.refused.keep(key, err)
		return authn.Identity{}, err
	}
	p.keep(key, who.Expires)
	return who, nil
}

func (p *PeerReviewer) has(key [sha256.Size]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[key].After(time.Now())
}

func (p *PeerReviewer) keep(key [sha256.Size]byte, expires time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= mostPeers {
		clear(p.known)
	}
	p.known[key] = expires
}
