package control

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weftmesh/weft/xds/server/secret"
	"github.com/weftmesh/weft/xds/server/token"
)

// The secrets in the data directory, beside those of package token and authority.
const (
	AdminTokenFile = "admin-token"
	userKeyFile    = "user-token-key"
)

// shared reads a secret of the data directory, or makes one there.
func shared(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	text, err := secret.Load(path, newSecret)
	if err != nil {
		return "", err
	}
	got := strings.TrimSpace(string(text))
	if len(got) < 32 {
		return "", fmt.Errorf("%s: it is too short to be a secret; remove it, and a new one is made", path)
	}
	return got, nil
}

func newSecret() ([]byte, error) {
	b := make([]byte, 32)
	if _, err := rand.Read(b); err != nil {
		return nil, err
	}
	return []byte(hex.EncodeToString(b) + "\n"), nil
}

// userAudience keeps tokens of users from being taken for those of dataplanes.
const userAudience = "weft-user"

// tokens issues credentials for the API to hand out.
type tokens struct {
	dataplanes *token.Keys
	userKey    []byte
}

type userClaims struct {
	jwt.RegisteredClaims
	Groups []string `json:"groups,omitempty"`
}

// Dataplane is a token for one dataplane.
func (t tokens) Dataplane(mesh, name string, validFor time.Duration) (string, error) {
	return t.dataplanes.Issue(mesh, name, validFor)
}

// User is a token for one person or program.
func (t tokens) User(name string, groups []string, validFor time.Duration) (string, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return "", err
	}
	now := time.Now()
	return jwt.NewWithClaims(jwt.SigningMethodHS256, userClaims{Groups: groups, RegisteredClaims: jwt.RegisteredClaims{
		Subject: name, Audience: jwt.ClaimStrings{userAudience}, ID: hex.EncodeToString(id),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(validFor)),
	}}).SignedString(t.userKey)
}

// WhoIs reads a token that User made.
func (t tokens) WhoIs(text string) (name string, groups []string, err error) {
	var c userClaims
	_, err = jwt.ParseWithClaims(text, &c, func(*jwt.Token) (any, error) { return t.userKey, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithAudience(userAudience), jwt.WithExpirationRequired())
	return c.Subject, c.Groups, err
}
