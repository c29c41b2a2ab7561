package control

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weftmesh/weft/xds/server/token"
)

// The secrets in the data directory, beside those of package token and authority.
const (
	AdminTokenFile = "admin-token"
	userKeyFile    = "user-token-key"
)

// secret reads a secret of the data directory, or makes one there. What others
// can read is no secret: that is refused rather than repaired, because it may
// have been read already.
func secret(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newSecret(dir, path)
	}
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", name, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", name, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others (mode %04o); remove it, and a new one is made", path, info.Mode().Perm())
	}
	got := strings.TrimSpace(string(text))
	if len(got) < 32 {
		return "", fmt.Errorf("%s is too short to be a secret; remove it, and a new one is made", path)
	}
	return got, nil
}

func newSecret(dir, path string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data directory: %w", err)
	}
	b := make([]byte, 32)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	made := hex.EncodeToString(b)
	if err := os.WriteFile(path, []byte(made+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep a secret: %w", err)
	}
	return made, nil
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
