package auth

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/tokens"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/secret"
	"github.com/weftmesh/weft/xds/server/token"
)

// The secrets in the data directory, beside those of package token and authority.
const (
	AdminTokenFile = "admin-token"
	UserKeyFile    = "user-token-key"
)

// LoadSecret reads a secret of the data directory, or makes one there.
func LoadSecret(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	text, err := secret.Load(path, secret.New)
	if err != nil {
		return "", err
	}
	got := strings.TrimSpace(string(text))
	if len(got) < 32 {
		return "", fmt.Errorf("%s: it is too short to be a secret; remove it, and a new one is made", path)
	}
	return got, nil
}

// userAudience keeps tokens of users from being taken for those of dataplanes.
const userAudience = "weft-user"

// Tokens issues credentials for the API to hand out, and takes them back.
type Tokens struct {
	dataplanes DataplaneKeys
	isPod      func(api.Ref) bool // of a dataplane
	userKey    []byte
	revoked    func(ids ...string) // ends what revoked tokens have opened
}

// DataplaneKeys issue tokens of dataplanes and know them again.
type DataplaneKeys interface {
	authn.Authenticator
	Issue(token.Claims, time.Duration) (token.Token, error)
	Revocations() *token.RevokedIDs
}

// NewTokens issues tokens of dataplanes by keys, and those of users by a key; isPod says of which
// dataplanes there are none, and revoked ends what revoked tokens have opened.
func NewTokens(keys DataplaneKeys, isPod func(api.Ref) bool, userKey string, revoked func(ids ...string)) Tokens {
	return Tokens{keys, isPod, []byte(userKey), revoked}
}

type userClaims struct {
	jwt.RegisteredClaims
	Groups []string `json:"groups,omitempty"`
}

// Dataplane is a token for one dataplane.
func (t Tokens) Dataplane(q tokens.DataplaneToken) (tokens.Token, error) {
	if dp := (api.Ref{Kind: api.KindDataplane, Mesh: q.Mesh, Name: q.Name}); t.isPod(dp) {
		return tokens.Token{}, fmt.Errorf("%s is that of a pod, which shows the token of its volume weft-token and no other", dp)
	}
	issued, err := t.dataplanes.Issue(token.Claims{Mesh: q.Mesh, Name: q.Name, Tags: q.Tags, Workload: q.Workload, Labels: q.Labels}, q.ValidFor)
	return tokens.Token(issued), err
}

// User is a token for one person or program.
func (t Tokens) User(name string, groups []string, validFor time.Duration) (tokens.Token, error) {
	now := time.Now()
	out := tokens.Token{Expires: now.Add(validFor)}
	var err error
	if out.ID, err = token.NewID(out.Expires); err != nil {
		return tokens.Token{}, err
	}
	out.Text, err = jwt.NewWithClaims(jwt.SigningMethodHS256, userClaims{Groups: groups, RegisteredClaims: jwt.RegisteredClaims{
		Subject: name, Audience: jwt.ClaimStrings{userAudience}, ID: out.ID,
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(out.Expires),
	}}).SignedString(t.userKey)
	return out, err
}

// Revoke makes tokens void and ends the streams that they opened.
func (t Tokens) Revoke(ids []string) error {
	err := t.dataplanes.Revocations().Revoke(time.Now(), ids...)
	if err == nil || errors.Is(err, token.ErrNotStored) {
		t.revoked(ids...) // they are void
	}
	if errors.Is(err, token.ErrNotStored) {
		return httpapi.Refusal(http.StatusServiceUnavailable, err.Error())
	}
	return err
}

// Revoked are the ids of all tokens that were revoked.
func (t Tokens) Revoked() []string { return t.dataplanes.Revocations().All() }

// WhoIs reads a token that User made.
func (t Tokens) WhoIs(text string) (name string, groups []string, err error) {
	var c userClaims
	_, err = jwt.ParseWithClaims(text, &c, func(*jwt.Token) (any, error) { return t.userKey, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithAudience(userAudience), jwt.WithExpirationRequired())
	if err == nil && t.dataplanes.Revocations().Has(c.ID) {
		err = fmt.Errorf("the token %s is revoked", c.ID)
	}
	return c.Subject, c.Groups, err
}
