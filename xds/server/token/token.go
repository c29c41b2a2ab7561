// Package token issues and verifies the tokens by which dataplanes say who they
// are: JWTs with sub, mesh, name, aud, exp and jti, and where they bind them tags
// and workload, as those of Kuma do.
//
// It promises that a token is good for one dataplane of one control plane only,
// that every token ends, at its time or when it is revoked, and that the key
// never leaves the data directory.
package token

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/secret"
)

const (
	keyFile  = "token-key.pem" // in the data directory
	audience = "weft-dataplane"
	issuer   = "weft"
	// MostValid is the longest life of a token.
	MostValid = 10 * 365 * 24 * time.Hour
)

// SigningKeys signs and verifies tokens.
type SigningKeys struct {
	private ed25519.PrivateKey
	id      string
	now     func() time.Time
	revoked *RevokedIDs
}

// Claims are what a token says of its dataplane.
type Claims struct {
	Mesh string `json:"mesh"`
	Name string `json:"name"`
	// Tags are those that the dataplane must have, with the values that it may have.
	Tags map[string][]string `json:"tags,omitempty"`
	// Workload is the value of its label kuma.io/workload.
	Workload string `json:"workload,omitempty"`
	// Labels are those that the dataplane must have, with the values that it may have.
	Labels map[string][]string `json:"labels,omitempty"`
}

// claims of a dataplane token.
type claims struct {
	jwt.RegisteredClaims
	Claims
}

func (c *Claims) dataplane() api.Ref {
	return api.Ref{Kind: api.KindDataplane, Mesh: c.Mesh, Name: c.Name}
}

// Token is one that was issued. All but Text may be shown.
type Token struct {
	Text    string
	ID      string // jti, by which it is revoked
	Expires time.Time
}

// Load reads the key from dir, or makes one there.
func Load(dir string) (*SigningKeys, error) {
	file := filepath.Join(dir, keyFile)
	text, err := secret.Load(file, NewKey)
	if err != nil {
		return nil, fmt.Errorf("the key of dataplane tokens: %w", err)
	}
	revoked, err := LoadRevocations(dir)
	if err != nil {
		return nil, err
	}
	k, err := Parse(text, revoked)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore it, or remove it, which makes all tokens void", file, err)
	}
	return k, nil
}

// Parse is the key that NewKey has written, with those of its tokens that are void. An error
// quotes nothing of it.
func Parse(text []byte, revoked *RevokedIDs) (*SigningKeys, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("no Ed25519 key")
	}
	public := private.Public().(ed25519.PublicKey)
	return &SigningKeys{private: private, id: hex.EncodeToString(public[:8]), now: time.Now, revoked: revoked}, nil
}

// RevokedIDs are the tokens that are void before their time.
func (k *SigningKeys) Revocations() *RevokedIDs { return k.revoked }

// NewKey makes a key, in PEM.
func NewKey() ([]byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// Issue makes a token for one dataplane.
func (k *SigningKeys) Issue(c Claims, validFor time.Duration) (Token, error) {
	switch {
	case c.Mesh == "" || c.Name == "":
		return Token{}, errors.New("a token is for one dataplane; give mesh and name")
	case validFor <= 0 || validFor > MostValid:
		return Token{}, fmt.Errorf("a token valid for %v is of no use; give more than 0s and at most %v", validFor, MostValid)
	}
	now := k.now()
	out := Token{Expires: now.Add(validFor)}
	var err error
	if out.ID, err = NewID(out.Expires); err != nil {
		return Token{}, err
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{Claims: c, RegisteredClaims: jwt.RegisteredClaims{
		Issuer: issuer, Subject: c.Mesh + "." + c.Name, Audience: jwt.ClaimStrings{audience}, ID: out.ID,
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(out.Expires),
	}})
	t.Header["kid"] = k.id
	out.Text, err = t.SignedString(k.private)
	return out, err
}

// IsOwn reports whether a token says that weft issued it. It says nothing of whether that is
// true.
func IsOwn(text string) bool {
	var c jwt.RegisteredClaims
	_, _, err := jwt.NewParser().ParseUnverified(text, &c)
	return err == nil && c.Issuer == issuer
}

// Verify is the dataplane that a token is for, what the token binds, and when it
// ends. It ends to the second: the clock is the one by which it was issued.
func (k *SigningKeys) Verify(token string) (authn.Identity, error) {
	if token == "" {
		return authn.Identity{}, errors.New("no dataplane token; give one in the metadata key authorization")
	}
	var c claims
	_, err := jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return k.private.Public(), nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithAudience(audience), jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(k.now))
	switch {
	case errors.Is(err, jwt.ErrTokenExpired) && c.ID != "" && c.Subject == c.Mesh+"."+c.Name: // of which the signature is good
		return authn.Identity{}, &authn.VoidReason{Dataplane: c.dataplane(), Why: fmt.Sprintf("the dataplane token is not good: %v, at %s; issue a new one", err, c.ExpiresAt.UTC().Format(time.RFC3339))}
	case err != nil:
		return authn.Identity{}, fmt.Errorf("the dataplane token is not good: %w; issue a new one", err)
	case c.Mesh == "" || c.Name == "" || c.ID == "" || c.Subject != c.Mesh+"."+c.Name:
		return authn.Identity{}, errors.New("the dataplane token names no dataplane; issue a new one")
	case k.revoked.Has(c.ID):
		return authn.Identity{}, &authn.VoidReason{Dataplane: c.dataplane(), Why: fmt.Sprintf("the dataplane token %s is revoked; issue a new one", c.ID)}
	}
	return authn.Identity{Dataplane: c.dataplane(),
		Expires: c.ExpiresAt.Time, Token: c.ID, Proof: api.Proof{Tags: c.Tags, Labels: c.Labels, Workload: c.Workload}}, nil
}

// Authenticate lets in who has a good token, as the dataplane of the token.
func (k *SigningKeys) Authenticate(_ context.Context, credentials string) (authn.Identity, error) {
	return k.Verify(credentials)
}
