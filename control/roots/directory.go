package roots

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/sidecar/inject"
)

// Authority is whom those trust who talk to a control plane, and what it shows them. It is
// kept by weft itself (Roots) or by somebody else (Directory).
type Authority interface {
	// TLS shows a certificate of the authority; until that is known it refuses connections.
	TLS() *tls.Config
	// TLSEarly is TLS, but that until the authority is known it shows a certificate that
	// nobody trusts.
	TLSEarly() *tls.Config
	// PEM is what clients must trust, empty while nobody knows it, and is closed when it is
	// another.
	PEM() (ca []byte, changed <-chan struct{})
	// Waiting is why there is no authority yet; nil when there is one.
	Waiting() error
	// Fault is why it cannot be read now, be it that it was before; nil where it can.
	Fault() error
	// Run keeps all that until ctx ends.
	Run(ctx context.Context)
}

// The files of a Directory: those of a Secret of type kubernetes.io/tls as cert-manager
// writes it.
const (
	fileCertificate = "tls.crt"
	fileKey         = "tls.key"
	fileAuthority   = "ca.crt"
)

// Directory is an authority that somebody else keeps in a directory of files, in which a
// Secret is mounted: the certificate to show with its key, and whom clients must trust.
// Files that are replaced are shown within seconds; ones that do not belong together, as
// while they are being replaced, are left alone.
type Directory struct {
	path  string
	log   *slog.Logger
	early func() (*tls.Certificate, error)

	mu      sync.Mutex
	shown   *tls.Certificate
	ca      []byte
	why     error
	changed chan struct{}
}

// look is how often the files are read.
const look = 2 * time.Second

// NewDirectory reads the files, and fails not if they are not there yet.
func NewDirectory(path string, hosts []string, now func() time.Time, log *slog.Logger) *Directory {
	d := &Directory{path: path, log: log, early: sync.OnceValues(func() (*tls.Certificate, error) { return untrusted(hosts, now) }), changed: make(chan struct{})}
	d.read()
	return d
}

// TLS implements Authority.
func (d *Directory) TLS() *tls.Config {
	return d.tls(func(why error) (*tls.Certificate, error) { return nil, why })
}

// TLSEarly implements Authority.
func (d *Directory) TLSEarly() *tls.Config {
	return d.tls(func(error) (*tls.Certificate, error) { return d.early() })
}

func (d *Directory) tls(without func(error) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			d.mu.Lock()
			shown, why := d.shown, d.why
			d.mu.Unlock()
			if shown == nil {
				return without(why)
			}
			return shown, nil
		}}
}

// PEM implements Authority.
func (d *Directory) PEM() (ca []byte, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ca, d.changed
}

// Waiting implements Authority.
func (d *Directory) Waiting() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown != nil {
		return nil
	}
	return fmt.Errorf("there is no authority: %w", d.why)
}

// Fault implements Authority.
func (d *Directory) Fault() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why
}

// Run implements Authority.
func (d *Directory) Run(ctx context.Context) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.read()
		}
	}
}

// read takes the files where they belong together.
func (d *Directory) read() {
	pair, ca, err := material(d.path)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		if d.shown != nil && (d.why == nil || d.why.Error() != err.Error()) {
			d.log.Warn("certificates cannot be read; what was read last stays", "error", err)
		}
		d.why = err
		return
	}
	d.why = nil
	if d.shown == nil || !bytes.Equal(d.shown.Certificate[0], pair.Certificate[0]) {
		d.log.Info("another certificate is shown", "ends", pair.Leaf.NotAfter)
	}
	d.shown = &pair
	if !bytes.Equal(d.ca, ca) {
		d.ca = ca
		close(d.changed)
		d.changed = make(chan struct{})
	}
}

// material reads a certificate, its key and whom to trust for it. No error quotes them.
func material(dir string) (pair tls.Certificate, ca []byte, err error) {
	var text [3][]byte
	for i, name := range []string{fileCertificate, fileKey, fileAuthority} {
		if text[i], err = files.Read(filepath.Join(dir, name), files.MostSecret); errors.Is(err, fs.ErrNotExist) {
			return pair, nil, fmt.Errorf("%s has no %s yet; whoever makes certificates has to write it", dir, name)
		} else if err != nil {
			return pair, nil, err
		}
	}
	if pair, err = tls.X509KeyPair(text[0], text[1]); err != nil {
		return pair, nil, fmt.Errorf("%s and %s of %s do not belong together", fileCertificate, fileKey, dir)
	}
	if err := inject.CheckCA(text[2]); err != nil {
		return pair, nil, fmt.Errorf("%s of %s: %w", fileAuthority, dir, err)
	}
	pool, between := x509.NewCertPool(), x509.NewCertPool()
	pool.AppendCertsFromPEM(text[2])
	for _, der := range pair.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: pair.Leaf.NotBefore.Add(time.Second)}); err != nil {
		return pair, nil, fmt.Errorf("%s of %s is not signed by %s", fileCertificate, dir, fileAuthority)
	}
	return pair, text[2], nil
}
