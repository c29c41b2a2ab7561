// Package authority keeps the small certificate authority of a control plane in
// its data directory, and makes the certificate that the control plane shows.
// What the control planes of a cluster share is a Bundle, whose roots follow each
// other; where it is kept is not decided here.
//
// It promises that the authority stays the same from start to start, that its
// key is readable by nobody else, and that the serving certificate is replaced
// long before it ends. It signs nothing but that certificate.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/xds/server/secret"
)

// The files in the data directory. Sidecars are given the first one.
const (
	CertificateFile = "ca.pem"
	keyFile         = "ca-key.pem"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	servingLife   = 90 * 24 * time.Hour
	leeway        = time.Hour // for clocks that are behind
)

// Authority signs the certificate of one control plane.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
	hosts       []string

	mu      sync.Mutex
	serving *tls.Certificate
	renewAt time.Time
}

// Load reads the authority from dir, or makes one there. Its certificate will
// be valid for hosts, which may be names and addresses, and for loopback.
func Load(dir string, hosts ...string) (*Authority, error) {
	a := &Authority{hosts: slices.Concat(hosts, []string{"localhost", "127.0.0.1", "::1"})}
	certificate, err := files.Read(filepath.Join(dir, CertificateFile), files.MostSecret)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a, a.create(dir)
	case err != nil:
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	key, err := secret.Read(filepath.Join(dir, keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the authority's key: %w; restore it, or remove %s too to start with a new authority", err, filepath.Join(dir, CertificateFile))
	}
	if err != nil {
		return nil, fmt.Errorf("the authority's key: %w", err)
	}
	if err := a.parse(certificate, key); err != nil {
		return nil, fmt.Errorf("%s: %w; restore both files, or remove both to start with a new authority", dir, err)
	}
	return a, nil
}

// PEM is the certificate that clients must trust.
func (a *Authority) PEM() []byte { return slices.Clone(a.pem) }

// TLS shows a certificate of the authority and offers both forms of HTTP.
func (a *Authority) TLS() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return a.current(time.Now()) },
	}
}

// current is the serving certificate, renewed after two thirds of its life.
func (a *Authority) current(now time.Time) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.serving != nil && now.Before(a.renewAt) {
		return a.serving, nil
	}
	serving, err := issue(a.certificate, a.key, a.hosts, now, servingLife)
	if err != nil {
		return nil, err
	}
	a.serving, a.renewAt = serving, now.Add(servingLife*2/3)
	return a.serving, nil
}

// issue makes a serving certificate for hosts, with a key of its own.
func issue(by *x509.Certificate, with *ecdsa.PrivateKey, hosts []string, now time.Time, life time.Duration) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := template("weft control plane", now, life)
	if err != nil {
		return nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by, &key.PublicKey, with)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, by.Raw}, PrivateKey: key}, nil
}

// create makes a new authority and writes it to dir, the key first: a
// certificate without its key would be refused at the next start, and a key
// without its certificate gets another.
func (a *Authority) create(dir string) error {
	keyPEM, err := secret.Load(filepath.Join(dir, keyFile), newKey)
	if err != nil {
		return fmt.Errorf("the authority's key: %w", err)
	}
	certificatePEM, err := certify(keyPEM, time.Now())
	if err != nil {
		return fmt.Errorf("%s: %w; restore it, or remove it to start with a new authority", filepath.Join(dir, keyFile), err)
	}
	if err := secret.Create(filepath.Join(dir, CertificateFile), certificatePEM, 0o644); err != nil { // for everybody
		return fmt.Errorf("the authority: %w", err)
	}
	return a.parse(certificatePEM, keyPEM)
}

func newKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), nil
}

// certify makes the certificate of the authority that has a key.
func certify(keyPEM []byte, now time.Time) ([]byte, error) {
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		return nil, errors.New("not PEM")
	}
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := private.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("this is not the key of weft's authority")
	}
	template, err := template("weft authority", now, authorityLife)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

func (a *Authority) parse(certificate, key []byte) error {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	private, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return errors.New("this is not an authority of weft")
	}
	a.certificate, a.key, a.pem = pair.Leaf, private, certificate
	return nil
}

func template(name string, now time.Time, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-leeway),
		NotAfter:     now.Add(life),
	}, nil
}
