package workload

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
)

// longestRequest bounds what is read of a request, in bytes; one with a P-256 key and
// nothing else has under 300.
const longestRequest = 4096

// NewRequest asks for a certificate of a key, and says nothing else (spec/identity.md 2.3).
func NewRequest(key crypto.Signer) ([]byte, error) {
	return x509.CreateCertificateRequest(rand.Reader, new(x509.CertificateRequest), key)
}

// PublicKey is all that is used of a request: the key, of which the sender has shown that
// he has its other half. Names and extensions in it have no effect.
func PublicKey(request []byte) (*ecdsa.PublicKey, error) {
	if len(request) > longestRequest {
		return nil, fmt.Errorf("a request of %d bytes; one has at most %d", len(request), longestRequest)
	}
	r, err := x509.ParseCertificateRequest(request)
	if err != nil {
		return nil, errors.New("this is no request for a certificate; send PKCS #10 in DER form")
	}
	key, ok := r.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("the key is not ECDSA P-256; make one of those")
	}
	if err := r.CheckSignature(); err != nil {
		return nil, errors.New("the request is not signed by its own key")
	}
	return key, nil
}
