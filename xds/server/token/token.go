// Package token issues and verifies the tokens by which dataplanes say who they
// are: JWTs with sub, mesh, name, aud, exp and jti.
//
// It promises that a token is good for one dataplane of one control plane only,
// that every token ends, and that the key never leaves the data directory.
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
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/secret"
)

const (
	keyFile  = "token-key.pem" // in the data directory
	audience = "weft-dataplane"
	issuer   = "weft"
	// Leeway is how much clocks may differ.
	Leeway = time.Minute
	// MostValid is the longest life of a token.
	MostValid = 10 * 365 * 24 * time.Hour
)

// Keys signs and verifies tokens.
type Keys struct {
	private ed25519.PrivateKey
	id      string
	now     func() time.Time
}

// claims of a dataplane token.
type claims struct {
	jwt.RegisteredClaims
	Mesh string `json:"mesh"`
	Name string `json:"name"`
}

// Load reads the key from dir, or makes one there.
func Load(dir string) (*Keys, error) {
	file := filepath.Join(dir, keyFile)
	text, err := secret.Load(file, create)
	if err != nil {
		return nil, fmt.Errorf("the key of dataplane tokens: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: not PEM; restore it, or remove it, which makes all tokens void", file)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s: no Ed25519 key; restore it, or remove it, which makes all tokens void", file)
	}
	return newKeys(private), nil
}

func newKeys(private ed25519.PrivateKey) *Keys {
	public := private.Public().(ed25519.PublicKey)
	return &Keys{private: private, id: hex.EncodeToString(public[:8]), now: time.Now}
}

func create() ([]byte, error) {
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
func (k *Keys) Issue(mesh, name string, validFor time.Duration) (string, error) {
	switch {
	case mesh == "" || name == "":
		return "", errors.New("a token is for one dataplane; give mesh and name")
	case validFor <= 0 || validFor > MostValid:
		return "", fmt.Errorf("a token valid for %v is of no use; give more than 0s and at most %v", validFor, MostValid)
	}
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return "", err
	}
	now := k.now()
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{Mesh: mesh, Name: name, RegisteredClaims: jwt.RegisteredClaims{
		Issuer: issuer, Subject: mesh + "." + name, Audience: jwt.ClaimStrings{audience}, ID: hex.EncodeToString(id),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(validFor)),
	}})
	t.Header["kid"] = k.id
	return t.SignedString(k.private)
}

// Verify is the dataplane that a token is for, and when the token ends.
func (k *Keys) Verify(token string) (api.Ref, time.Time, error) {
	if token == "" {
		return api.Ref{}, time.Time{}, errors.New("no dataplane token; give one in the metadata key authorization")
	}
	var c claims
	_, err := jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return k.private.Public(), nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithAudience(audience), jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(Leeway), jwt.WithTimeFunc(k.now))
	if err != nil {
		return api.Ref{}, time.Time{}, fmt.Errorf("the dataplane token is not good: %w; issue a new one", err)
	}
	if c.Mesh == "" || c.Name == "" || c.ID == "" || c.Subject != c.Mesh+"."+c.Name {
		return api.Ref{}, time.Time{}, errors.New("the dataplane token names no dataplane; issue a new one")
	}
	return api.Ref{Kind: api.KindDataplane, Mesh: c.Mesh, Name: c.Name}, c.ExpiresAt.Time, nil
}

// Authenticate lets in who has a good token, as the dataplane of the token.
func (k *Keys) Authenticate(_ context.Context, credentials string) (server.Identity, error) {
	ref, expires, err := k.Verify(credentials)
	if err != nil {
		return server.Identity{}, err
	}
	return server.Identity{Dataplane: ref, Expires: expires.Add(Leeway)}, nil
}
