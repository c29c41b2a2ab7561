package authority

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Ages of what a cluster's control planes share (spec/kubernetes.md 6.6).
const (
	clusterServingLife = 30 * 24 * time.Hour
	// trusting is how long a new root is trusted before it signs: until then all who
	// trust have it.
	trusting = 24 * time.Hour
)

// The keys of Data.
const (
	BundleCertificates = "ca.pem"
	BundleKeys         = "ca-key.pem"
)

// Bundle is the roots that the control planes of a cluster share, as one Secret holds
// them. It is immutable; whoever stores it decides which of two is the one.
//
// A new root is trusted before it signs, and an old one is trusted until the last
// certificate that it signed has ended, so that a client with any bundle of the last day
// trusts what any control plane shows.
type Bundle struct{ roots []root } // oldest first

type root struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem, keyPEM []byte
}

// created is when the root was made.
func (r root) created() time.Time { return r.certificate.NotBefore.Add(leeway) }

// NewBundle has one new root.
func NewBundle(now time.Time) (*Bundle, error) { return new(Bundle).Rotated(now) }

// ParseBundle reads what Data wrote. An error quotes nothing of it.
func ParseBundle(data map[string][]byte) (*Bundle, error) {
	certificates, keys := blocks(data[BundleCertificates]), blocks(data[BundleKeys])
	if len(certificates) == 0 || len(certificates) != len(keys) {
		return nil, fmt.Errorf("%d certificates and %d keys: each root has one of both; restore the Secret, or delete it to start with a new authority", len(certificates), len(keys))
	}
	b := new(Bundle)
	for i := range certificates {
		r, err := parseRoot(certificates[i], keys[i])
		if err != nil {
			return nil, fmt.Errorf("root %d cannot be read; restore the Secret, or delete it to start with a new authority", i)
		}
		b.roots = append(b.roots, r)
	}
	return b, nil
}

func parseRoot(certificate, key []byte) (root, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return root{}, err
	}
	private, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return root{}, errors.New("this is not an authority of weft")
	}
	return root{pair.Leaf, private, certificate, key}, nil
}

// blocks are the parts of a PEM text, each as one.
func blocks(text []byte) (out [][]byte) {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return out
		}
		out = append(out, pem.EncodeToMemory(b))
	}
}

// Data is the bundle as a Secret holds it, with the keys.
func (b *Bundle) Data() map[string][]byte {
	var keys [][]byte
	for _, r := range b.roots {
		keys = append(keys, r.keyPEM)
	}
	return map[string][]byte{BundleCertificates: b.PEM(), BundleKeys: bytes.Join(keys, nil)}
}

// PEM is what clients must trust.
func (b *Bundle) PEM() []byte {
	var all [][]byte
	for _, r := range b.roots {
		all = append(all, r.pem)
	}
	return bytes.Join(all, nil)
}

// Equal reports whether both have the same roots in the same order.
func (b *Bundle) Equal(c *Bundle) bool {
	return slices.EqualFunc(b.roots, c.roots, func(x, y root) bool { return x.certificate.Equal(y.certificate) })
}

// Rotated is b with one more root.
func (b *Bundle) Rotated(now time.Time) (*Bundle, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	certificate, err := certify(key, now)
	if err != nil {
		return nil, err
	}
	r, err := parseRoot(certificate, key)
	if err != nil {
		return nil, err
	}
	return &Bundle{append(slices.Clone(b.roots), r)}, nil
}

// Next is what b has to become by now, b itself where nothing is due: with a new root at
// two thirds of the newest one's life, without those that have nothing in use.
func (b *Bundle) Next(now time.Time) (*Bundle, error) {
	next := b
	for len(next.roots) > 1 && !now.Before(next.roots[1].created().Add(trusting+clusterServingLife)) {
		next = &Bundle{next.roots[1:]}
	}
	newest := next.roots[len(next.roots)-1]
	if now.Before(newest.created().Add(authorityLife * 2 / 3)) {
		return next, nil
	}
	return next.Rotated(now)
}

// signer is the newest root that everybody trusts; of a bundle whose roots are all new the
// oldest.
func (b *Bundle) signer(now time.Time) root {
	for _, r := range slices.Backward(b.roots) {
		if !now.Before(r.created().Add(trusting)) {
			return r
		}
	}
	return b.roots[0]
}

// Serving shows certificates of a bundle, which may be replaced while it serves: no
// connection is refused, and those that are open stay.
type Serving struct {
	hosts []string
	now   func() time.Time

	mu      sync.Mutex
	bundle  *Bundle
	shown   *tls.Certificate
	by      *x509.Certificate
	renewAt time.Time
}

// NewServing shows certificates for hosts, names or addresses. The clock is now. Without a
// bundle every connection is refused until Replace brings one.
func NewServing(b *Bundle, now func() time.Time, hosts ...string) *Serving {
	return &Serving{hosts: hosts, now: now, bundle: b}
}

// Replace takes b from the next connection on.
func (s *Serving) Replace(b *Bundle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bundle = b
}

// TLS shows the certificate that is due, and offers both forms of HTTP.
func (s *Serving) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.current() }}
}

var errEarly = errors.New("the authority has not been read yet")

// current is renewed at two thirds of its life, and when another root signs.
func (s *Serving) current() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bundle == nil {
		return nil, errEarly
	}
	now := s.now()
	by := s.bundle.signer(now)
	if s.shown != nil && now.Before(s.renewAt) && s.by.Equal(by.certificate) {
		return s.shown, nil
	}
	shown, err := issue(by.certificate, by.key, s.hosts, now, clusterServingLife)
	if err != nil {
		return nil, err
	}
	s.shown, s.by, s.renewAt = shown, by.certificate, now.Add(clusterServingLife*2/3)
	return shown, nil
}
