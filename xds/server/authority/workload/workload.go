// Package workload is the certificate authority of workloads: roots, intermediates, the
// leaves that sidecars show each other, and what one may ask of an authority that is not
// ours (spec/identity.md 2.2, 2.3, 2.6).
//
// It promises that a leaf names exactly what it was asked to name, ends no later than
// those above it, and holds nothing that a workload chose but its public key. It keeps
// nothing: where keys are, and who may have which name, is decided by whoever calls.
package workload

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"

	"github.com/weftmesh/weft/api/spiffe"
)

// Lives of certificates, where documents do not say otherwise (spec/identity.md 2.2).
const (
	RootLife         = 10 * 365 * 24 * time.Hour
	IntermediateLife = 90 * 24 * time.Hour
	CertificateLife  = 24 * time.Hour
)

// Leeway is how long before it was made a certificate is valid, for clocks that are
// behind: Envoy refuses what is not yet valid.
const Leeway = time.Hour

// Signer is a certificate that signs others, with its key: a root, or an intermediate.
// It is immutable, and prints nothing of its key.
type Signer struct {
	certificate *x509.Certificate
	key         crypto.Signer
	above       []*x509.Certificate // from this one up to the root, which is not among them
}

// Certificate is the signer's own.
func (s *Signer) Certificate() *x509.Certificate { return s.certificate }

// String names the signer in messages, by what its certificate is known by.
func (s *Signer) String() string { return s.certificate.Subject.CommonName }

// Fingerprint is the SHA-256 of a certificate, in hexadecimal digits.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// PEM are the certificate and the key of a root, as a Secret keeps them.
func (s *Signer) PEM() (certificate, key []byte, err error) {
	key, err = KeyPEM(s.key)
	return certificatePEM(s.certificate), key, err
}

// KeyPEM is a key as Secrets and Envoy take it.
func KeyPEM(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// NewKey makes a key of the kind that all certificates have which weft makes.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// NewRoot makes the root of a trust domain. A constrained one can name workloads of that
// domain alone, whatever it signs (F14); Kuma's older identities also have names that are
// of no domain, so their root is not.
func NewRoot(domain string, constrained bool, life time.Duration, now time.Time) (*Signer, error) {
	if err := spiffe.CheckDomain(domain); err != nil {
		return nil, err
	}
	t, key, err := authority("weft root", now)
	if err != nil {
		return nil, err
	}
	t.NotAfter, t.MaxPathLen = now.Add(life), 1
	t.URIs = []*url.URL{{Scheme: "spiffe", Host: domain}}
	if constrained {
		t.PermittedURIDomains, t.PermittedDNSDomainsCritical = []string{domain}, true
	}
	certificate, err := sign(t, t, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &Signer{certificate: certificate, key: key}, nil
}

// CanDelegate reports whether the signer may sign intermediates; a root that people
// provide may be limited to leaves.
func (s *Signer) CanDelegate() bool { return !s.certificate.MaxPathLenZero }

// Intermediate makes a signer of leaves below a root.
func (s *Signer) Intermediate(now time.Time) (*Signer, error) {
	if !s.CanDelegate() {
		return nil, fmt.Errorf("%s may sign no intermediate", s)
	}
	t, key, err := authority("weft intermediate", now)
	if err != nil {
		return nil, err
	}
	t.NotAfter = earlier(now.Add(IntermediateLife), s.certificate.NotAfter)
	t.MaxPathLenZero = true
	certificate, err := sign(t, s.certificate, &key.PublicKey, s.key)
	if err != nil {
		return nil, err
	}
	return &Signer{certificate, key, append([]*x509.Certificate{certificate}, s.above...)}, nil
}

// authority is a template of a certificate that signs, without its end, and its key. Its
// name is its own: two roots of one name make verifiers try the wrong one.
func authority(what string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := NewKey()
	if err != nil {
		return nil, nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s %x", what, serial.Bytes()[:4])},
		NotBefore:             now.Add(-Leeway),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}, key, nil
}

// newSerial has 127 bits, of which the first four bytes are not all zero.
func newSerial() (*big.Int, error) {
	for {
		n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
		if err != nil {
			return nil, err
		}
		if n.BitLen() > 64 {
			return n, nil
		}
	}
}

func sign(t, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, public, by)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// CertificateChain is a leaf and what stands between it and its root, the leaf first.
type CertificateChain []*x509.Certificate

// PEM is the chain as Envoy takes it.
func (c CertificateChain) PEM() []byte {
	var b bytes.Buffer
	for _, certificate := range c {
		b.Write(certificatePEM(certificate))
	}
	return b.Bytes()
}

// DER are the certificates of the chain, as they are signed.
func (c CertificateChain) DER() [][]byte {
	out := make([][]byte, len(c))
	for i, certificate := range c {
		out[i] = certificate.Raw
	}
	return out
}

// ReadChain reads what PEM has written.
func ReadChain(text []byte) (out CertificateChain, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// errEnds is what a signer answers that has no time left.
var errEnds = errors.New("the authority ends now, so what it signs would be of no use; rotate its root")

// Issue makes the certificate of a workload: its names, of which the first is a SPIFFE ID
// with a path, and its public key. Its subject is empty, so its names are critical.
func (s *Signer) Issue(names []string, public crypto.PublicKey, life time.Duration, now time.Time) (CertificateChain, error) {
	uris, err := uris(names)
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber:          serial,
		NotBefore:             now.Add(-Leeway),
		NotAfter:              earlier(now.Add(life), s.certificate.NotAfter),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		URIs:                  uris,
	}
	if !t.NotAfter.After(now) {
		return nil, errEnds
	}
	leaf, err := sign(t, s.certificate, public, s.key)
	if err != nil {
		return nil, err
	}
	return append(CertificateChain{leaf}, s.above...), nil
}

// uris are names as certificates hold them, each byte by byte.
func uris(names []string) ([]*url.URL, error) {
	if len(names) == 0 {
		return nil, errors.New("a certificate without a name proves nothing")
	}
	if id, err := spiffe.Parse(names[0]); err != nil {
		return nil, err
	} else if id.Path == "" {
		return nil, fmt.Errorf("%s names a trust domain and no workload", id)
	}
	var out []*url.URL
	for _, n := range names {
		u, err := url.Parse(n)
		if err != nil || u.String() != n {
			return nil, fmt.Errorf("a certificate would not hold the name %q as it is", n)
		}
		out = append(out, u)
	}
	return out, nil
}
