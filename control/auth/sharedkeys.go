package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/token"
)

// What replicas share beside their authority.
const (
	SharedTokenKey = "token-key.pem"
	sharedRevoked  = "revoked-tokens.json"
)

// mostSharedRevoked is how long the list of what was revoked may be: a Secret has 1 MiB, in
// base64.
const mostSharedRevoked = 512 << 10

// SharedKeys are those of dataplane tokens that the replicas of a store share, with what
// was revoked: a token that one has issued is good at all, and void at all.
type SharedKeys struct {
	secrets store.SharedSecrets
	revoked *token.RevokedIDs
	log     *slog.Logger
	current atomic.Pointer[token.SigningKeys] // nil while nobody knows them
}

var _ DataplaneKeys = (*SharedKeys)(nil)

func NewSharedKeys(s store.SharedSecrets, log *slog.Logger) *SharedKeys {
	return &SharedKeys{secrets: s, log: log, revoked: token.NewRevocations(func(ids map[string]time.Time) error {
		return s.Change(context.Background(), sharedRevoked, func(old []byte) ([]byte, error) { return addRevoked(s, old, ids, time.Now()) })
	})}
}

// addRevoked is a list of revoked tokens with more of them, and without those that have ended.
func addRevoked(in fmt.Stringer, old []byte, ids map[string]time.Time, now time.Time) ([]byte, error) {
	all := map[string]time.Time{}
	if len(old) > 0 {
		if err := json.Unmarshal(old, &all); err != nil {
			return nil, fmt.Errorf("%s of the %s cannot be read; restore it", sharedRevoked, in)
		}
	}
	maps.Copy(all, ids)
	token.Prune(all, now)
	text, err := json.Marshal(all)
	if err == nil && len(text) > mostSharedRevoked {
		err = fmt.Errorf("%d revoked tokens that have not ended do not fit into the %s; make all tokens void instead: remove %s and %s from its data, and a new key is made", len(all), in, SharedTokenKey, sharedRevoked)
	}
	return text, err
}

// Authenticate is Unavailable until the key is known.
func (s *SharedKeys) Authenticate(ctx context.Context, text string) (authn.Identity, error) {
	k := s.current.Load()
	if k == nil {
		return authn.Identity{}, status.Error(codes.Unavailable, "the key of dataplane tokens is not read yet; try again")
	}
	return k.Authenticate(ctx, text)
}

// Waiting is why there is no key yet; nil when there is one.
func (s *SharedKeys) Waiting() error {
	if s.current.Load() == nil {
		return errors.New("the key of dataplane tokens, and what was revoked, is not read yet")
	}
	return nil
}

// Issue makes a token for one dataplane.
func (s *SharedKeys) Issue(c token.Claims, validFor time.Duration) (token.Token, error) {
	k := s.current.Load()
	if k == nil {
		return token.Token{}, httpapi.Refusal(http.StatusServiceUnavailable, "the key of dataplane tokens is not read yet; try again")
	}
	return k.Issue(c, validFor)
}

// Revocations are the tokens that are void before their time.
func (s *SharedKeys) Revocations() *token.RevokedIDs { return s.revoked }

// Follow takes what is shared until ctx ends, and tells which tokens others have
// revoked. What cannot be read leaves in force what was.
func (s *SharedKeys) Follow(ctx context.Context, revoked func(ids ...string)) {
	seen := ""
	for {
		key, changed := s.secrets.Value(SharedTokenKey)
		ids, _ := s.secrets.Value(sharedRevoked)
		known := true
		if len(ids) > 0 {
			added, err := s.revoked.Take(time.Now(), ids)
			if err != nil {
				s.log.Error("revoked tokens of the cluster; restore them", "error", err)
				known = false
			} else if len(added) > 0 {
				revoked(added...)
			}
		}
		// A replica that does not know what was revoked would let it come to life again.
		if (known || s.current.Load() != nil) && len(key) > 0 && string(key) != seen {
			seen = string(key)
			if k, err := token.Parse(key, s.revoked); err != nil {
				s.log.Error("the key of dataplane tokens of the cluster", "error", err)
			} else {
				s.current.Store(k)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
