// Package certs makes certificates for tests.
package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"
)

// A Pair is a certificate that is its own authority, and its key, in PEM form.
type Pair struct {
	Chain, Key []byte
	Leaf       *x509.Certificate
}

// New is a pair for hosts, unlike every other one.
func New(t testing.TB, hosts ...string) *Pair {
	t.Helper()
	p, err := Make(hosts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Make is New where there is no test.
func Make(hosts ...string) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return nil, err
	}
	form := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &Pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), leaf}, nil
}

// Secret is the document of a Secret of Kubernetes that holds the pair.
func (p *Pair) Secret(namespace, name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\ntype: kubernetes.io/tls\ndata:\n  tls.crt: %s\n  tls.key: %s\n",
		name, namespace, base64.StdEncoding.EncodeToString(p.Chain), base64.StdEncoding.EncodeToString(p.Key))
}

// Canaries are texts of which none may be where the key of the pair may not be.
func (p *Pair) Canaries() []string {
	block, _ := pem.Decode(p.Key)
	lines := bytes.Split(p.Key, []byte("\n"))
	encoded := base64.StdEncoding.EncodeToString(p.Key)
	return []string{string(lines[1]), encoded[40:120], base64.StdEncoding.EncodeToString(block.Bytes)[8:60]}
}

// Canary is the one among texts that stands in text; empty for none.
func Canary(text string, canaries []string) string {
	for _, c := range canaries {
		if bytes.Contains([]byte(text), []byte(c)) {
			return c
		}
	}
	return ""
}

// Forms are those in which a key, given in PEM, may be told: its own bytes, and its text, plain or
// in base64 wherever in a line that begins.
func Forms(key []byte) map[string][]byte {
	block, _ := pem.Decode(key)
	line := bytes.Split(key, []byte("\n"))[2] // the first is the same in all keys of a kind
	out := map[string][]byte{"bytes": block.Bytes[len(block.Bytes)/2:][:24], "text": line[:30]}
	for skip := range 3 {
		out[fmt.Sprint("base64 ", skip)] = []byte(base64.StdEncoding.EncodeToString(key[100+skip : 100+skip+30]))
	}
	return out
}
