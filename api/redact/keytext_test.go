package redact_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// keys are private keys as people paste them, by how they are written.
func privateKeys(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	add := func(name, typ string, der []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		text := pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der})
		out[name+" in PEM"] = string(text)
		out[name+" in PEM in base64"] = base64.StdEncoding.EncodeToString(text)
		out[name+" in DER in base64"] = base64.StdEncoding.EncodeToString(der)
	}
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(p256)
	add("EC", "EC PRIVATE KEY", der, err)
	add("RSA", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey), nil)
	for name, key := range map[string]any{"PKCS8 of EC": p256, "PKCS8 of RSA": rsaKey, "PKCS8 of Ed25519": ed} {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		add(name, "PRIVATE KEY", der, err)
	}
	return out
}

// TestNoMessageQuotesAKey: what looks like a key is in no message, however a check quotes it; names
// that people write are.
func TestNoMessageQuotesAKey(t *testing.T) {
	t.Parallel()
	texts := privateKeys(t)
	texts["a token"] = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEiLCJ0eXAiOiJKV1QifQ.eyJNZXNoIjoiZGVmYXVsdCIsIk5hbWUiOiJhIn0.c2lnbmF0dXJlIG9mIHRoaXMgdG9rZW4x"
	texts["hexadecimal digits"] = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for name, text := range texts {
		if !redact.LooksSecret(text) {
			t.Errorf("%s does not look like a key", name)
		}
		for _, message := range []string{redact.Clip(text), api.Path("a").Breaks("%q is no name", text).Message, api.Path("a").Warns("X", "%v", errors.New(text)).Message,
			api.Path("a").OneOf(text, "b").Message} {
			for line := range strings.Lines(text) {
				if part := strings.TrimSpace(line); len(part) >= 16 && strings.Contains(message, part[:16]) {
					t.Errorf("%s: %s", name, message)
				}
			}
		}
	}
	for _, text := range []string{"", "backend_shop_svc_8080", "mesh-traffic-permission-all-default", "spiffe://default.zone-1.mesh.local/ns/shop/sa/frontend-2024",
		"MeshTrafficPermission/default/mesh-traffic-permission-all-default-2.kuma-system", "/api/v1/Accounts/{id}/transactions/2024/settlements", "frontend.shop.svc.cluster.local",
		"^/v[0-9]+/(orders|Customers)/[A-Za-z0-9]+$", "kri_mtp_default_zone-1_kuma-system_allow-frontend-to-backend-of-2024_"} {
		if redact.LooksSecret(text) {
			t.Errorf("%q is not quoted", text)
		}
	}
}

// TestPrivateKeysAreKnown: in all the forms in which they are pasted, and nothing else is one.
func TestPrivateKeysAreKnown(t *testing.T) {
	t.Parallel()
	for name, text := range privateKeys(t) {
		for _, as := range []string{text, "\n" + text + "\n"} {
			if !redact.IsPrivateKey(as) {
				t.Errorf("%s is not known", name)
			}
		}
	}
	for _, text := range []string{"", "M", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "MeshTrafficPermissionForAllThatStandsInThisMesh", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("0", 100)))} {
		if redact.IsPrivateKey(text) {
			t.Errorf("%q is none", text)
		}
	}
}

// Slashes and dashes stand in a key where chance puts them, and part names too: however short the runs between
// them, a key looks like one.
func TestKeysWithSlashesLookLikeKeys(t *testing.T) {
	t.Parallel()
	var missed []string
	seed := make([]byte, ed25519.SeedSize)
	for n := range 20000 {
		binary.BigEndian.PutUint64(seed, uint64(n))
		sum := sha256.Sum256(seed)
		der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(sum[:]))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{base64.StdEncoding.EncodeToString(der), base64.URLEncoding.EncodeToString(der), base64.StdEncoding.EncodeToString(sum[:]), base64.URLEncoding.EncodeToString(sum[:])} {
			if !redact.LooksSecret(text) {
				missed = append(missed, text)
			}
		}
	}
	if len(missed) > 4 { // of 80,000: some have no digit, and few capitals
		t.Errorf("%d do not look like keys: %v", len(missed), missed)
	}
}
